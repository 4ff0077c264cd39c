package main

import "sync"

// How much a run tries to stay below, by collecting garbage more often. The limits on
// inputs are such that it can with a few root modules. Each of many has some 17 KiB in use
// at the worst moment, for its lock file and its plan: with little more room than that all
// time goes into collecting what is in use.
const (
	memoryLeast   = 192 << 20
	memoryNone    = 64 << 20 // without any root module
	memoryPerRoot = 36 << 10
	memoryMost    = 1 << 30
)

// boundMemory sets the limit, and returns what raises it when it is known how many root
// modules there are. A limit in GOMEMLIMIT stays as it is.
func boundMemory(getenv func(string) string, set func(int64) int64) (found func(roots int)) {
	if getenv("GOMEMLIMIT") != "" {
		return func(int) {}
	}
	var mu sync.Mutex
	most := int64(memoryLeast)
	set(most)
	return func(roots int) {
		mu.Lock()
		defer mu.Unlock()
		if limit := memoryFor(roots); limit > most { // what an earlier target keeps stays in use
			most = limit
			set(most)
		}
	}
}

// memoryFor is the limit for a run over so many root modules.
func memoryFor(roots int) int64 {
	return min(max(memoryLeast, memoryNone+int64(roots)*memoryPerRoot), memoryMost)
}
