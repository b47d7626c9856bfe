// Package arena is the world of one leg of the laboratory: Linux namespaces of its
// own, in which backends are real processes at addresses of their own that come, stop,
// are killed and vanish, and in which every try to reach a dead one is counted.
//
// A parent starts a leg by [Command]; the child calls [Enter] before anything else and
// is then process 1 of its namespaces: when it ends, for whatever reason, the kernel
// ends all that it started, and its network and its temporary files are gone. [Live]
// ends it when its parent does. [New] then makes an [Arena] there.
//
// It knows nothing about proxies: they find the network as [Enter] leaves it, with
// 127.0.0.1 for themselves, and connect from 10.0.0.1. It never touches the network,
// the mounts or the processes outside. Linux only.
//
// Process 1 inherits orphans. It does not reap them: whoever waits for any child steals
// the children of os/exec. A dead orphan costs a number in a table of thousands, until
// the leg ends and the table with it.
package arena
