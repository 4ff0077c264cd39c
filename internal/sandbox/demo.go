package sandbox

import (
	_ "embed"

	"golang.org/x/tools/txtar"
)

//go:embed demo/world.txtar
var demo []byte

// DemoRepository is the repository of the demonstration's world.
const DemoRepository = "acme/infrastructure"

// Demo returns the world of relock demo.
func Demo() (*World, error) { return ParseWorld(txtar.Parse(demo)) }
