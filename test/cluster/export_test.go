package cluster

// Build names the directory of the programs.
const Build = build
