// Package report turns what a run found into what people read: the table of the
// seed, the steps and lines that the command line lays out as tables, and one HTML
// page with a timeline for each proxy.
//
// It takes a [lab.Result] and writes to a writer. It reads no clock and no file and
// reaches no network, so that a report can be drawn again from its JSON.
package report
