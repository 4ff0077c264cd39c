// Pictures draws the pictures of the README: the pull request of the demonstration, in
// light and dark colours, and the plot of docs/compared.txt.
//
//	go run ./.ci/pictures
//
// The pull request needs Chromium on PATH. docs/pictures.sum has the hash of the text
// that its pictures were made from, which a test compares.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/pictures"
)

func main() {
	err := errors.Join(drawPlot(), drawPull())
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// drawPlot draws the plot from what the benchmark printed.
func drawPlot() error {
	results, err := os.ReadFile("docs/compared.txt")
	if err != nil {
		return err
	}
	plot, err := pictures.Plot(string(results))
	if err != nil {
		return err
	}
	return os.WriteFile("docs/compared.svg", []byte(plot), 0o644)
}

// drawPull plays the demonstration and photographs its pull request.
func drawPull() error {
	dir, err := os.MkdirTemp("", "pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	kept := filepath.Join(dir, "demo")
	out, err := exec.Command("go", "run", "./demo", "-keep", kept).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go run ./demo: %w\n%s", err, out)
	}
	body, err := os.ReadFile(filepath.Join(kept, "pull-request.md"))
	if err != nil {
		return err
	}
	pull, err := pictures.ReadPull(string(body))
	if err != nil {
		return err
	}
	for name, dark := range map[string]bool{"docs/pull-request.png": false, "docs/pull-request-dark.png": true} {
		page, err := pull.Page(dark)
		if err != nil {
			return err
		}
		picture, err := photograph(dir, page)
		if err != nil {
			return err
		}
		err = os.WriteFile(name, picture, 0o644)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d bytes\n", name, len(picture))
	}
	return os.WriteFile("docs/pictures.sum", []byte(pull.Sum()+"  the pull request of go run ./demo\n"), 0o644)
}

// photograph returns the page as a picture, twice as large as on a plain screen.
func photograph(dir string, page []byte) ([]byte, error) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("a browser draws the pull request: %w", err)
	}
	source, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.png")
	err = os.WriteFile(source, page, 0o644)
	if err != nil {
		return nil, err
	}
	args := []string{"--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--force-device-scale-factor=2", "--window-size=830,4000", "--screenshot=" + shot, "file://" + source}
	if os.Geteuid() == 0 {
		args = slices.Insert(args, 0, "--no-sandbox") // Chromium does not start for root else
	}
	out, err := exec.Command(browser, args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", browser, err, out)
	}
	f, err := os.Open(shot)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	full, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("reading the browser's picture: %w", err)
	}
	var small bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&small, reduced(full))
	return small.Bytes(), err
}

// reduced is the picture without the empty rows below, in its 16 most frequent colours:
// a page has few, and letters have shades of them.
func reduced(full image.Image) image.Image {
	area := full.Bounds()
	paper := full.At(area.Min.X, area.Max.Y-1)
	times := map[color.Color]int{}
	bottom := area.Min.Y
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := full.At(x, y)
			times[c]++
			if c != paper {
				bottom = y + 1
			}
		}
	}
	const margin = 24
	area.Max.Y = min(area.Max.Y, bottom+margin)
	var palette color.Palette
	for c := range times {
		palette = append(palette, c)
	}
	slices.SortFunc(palette, func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	few := image.NewPaletted(area, palette[:min(len(palette), 16)])
	draw.Draw(few, area, full, area.Min, draw.Src)
	return few
}
