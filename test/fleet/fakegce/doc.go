// Package fakegce answers the requests of a client of Google Compute Engine as the
// service would, from memory: instances.insert, get, delete and aggregatedList, and
// zoneOperations.get. Nothing else is answered, and every request is in [Cloud.Calls].
//
// Operations are asynchronous, addresses come late, lists have pages, and everything
// can be made to fail: by a [Fault] for requests, and by methods of [Cloud] for the
// world. Another process does the same through /fake/ on the same address, see [Control];
// it can hold a request at the n-th call and end whoever waits for it.
//
// Time is a function of the clock that Options has: nothing runs by itself.
package fakegce
