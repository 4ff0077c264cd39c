package render_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// driver is a page of the same origin that uses the report as a person does. It
// types into the filter, clicks a heading, and records the result.
const driver = `<!DOCTYPE html><title>driver</title><iframe id="report" src="/report"></iframe><ul id="seen"></ul><script>
document.getElementById("report").addEventListener("load", function () {
  var page = document.getElementById("report").contentDocument;
  var all = function (selector) { return Array.prototype.slice.call(page.querySelectorAll(selector)); };
  function say(what, value) {
    var item = document.createElement("li");
    item.textContent = what + ": " + value;
    document.getElementById("seen").appendChild(item);
  }
  function shown() { return all("#versions .matrix tbody tr").filter(function (row) { return row.offsetParent !== null; }); }
  function type(text) {
    var input = page.getElementById("filter");
    input.value = text;
    input.dispatchEvent(new Event("input"));
  }
  say("filter is offered", page.getElementById("filter").offsetParent !== null);
  say("rows", shown().length);
  type("stack-0007 tool");
  say("one left", shown().map(function (row) { return row.cells[0].textContent; }).join());
  type("no such thing");
  say("none left", shown().length);
  type("");
  say("rows again", shown().length);
  var heading = all("#versions .matrix thead button")[2];
  heading.click();
  say("oldest first", shown()[0].cells[2].textContent.trim());
  heading.click();
  say("newest first", shown()[0].cells[2].textContent.trim());
  say("sorted", heading.parentNode.getAttribute("aria-sort"));
  var box = page.querySelector(".matrix").parentNode;
  box.scrollLeft = 150;
  var left = function (element) { return element.getBoundingClientRect().left; };
  say("scrolled", left(shown()[0].cells[1]) < shown()[0].cells[0].getBoundingClientRect().right - 20);
  say("names stay", Math.abs(left(shown()[0].cells[0]) - left(box)) < 3 && Math.abs(left(page.querySelector(".matrix thead th")) - left(box)) < 3);
  function found() { return all("#findings tbody tr").filter(function (row) { return row.offsetParent !== null; }); }
  type("forged");
  say("finding left", found().map(function (row) { return row.cells[1].textContent; }).join());
  type("");
  all("#findings thead button")[0].click();
  say("worst first", found()[0].cells[0].textContent);
  all("#findings thead button")[0].click();
  say("mildest first", found()[0].cells[0].textContent);
  say("coloured", page.defaultView.getComputedStyle(page.querySelector("rect")).fill !== "rgb(0, 0, 0)");
  say("done", true);
});
</script>`

// measurer is a page of the same origin. It opens each report in frames of two
// widths, unfolds everything, and records what holds in any font: the report is no
// wider than the frame, each name is on one line, and beside an editor the table of
// changes has at least the width that it asks for.
const measurer = `<!DOCTYPE html><title>measurer</title><ul id="seen"></ul><script>
[%s].forEach(function (name) {
  [360, 896].forEach(function (width) {
    var frame = document.createElement("iframe");
    frame.style.cssText = "border:0;height:800px;width:" + width + "px";
    frame.src = "/" + name;
    frame.addEventListener("load", function () {
      var view = frame.contentWindow, page = frame.contentDocument, root = page.documentElement, changes = page.querySelector("#changes table");
      page.querySelectorAll("details").forEach(function (details) { details.open = true; });
      var item = document.createElement("li");
      item.textContent = name + " at " + view.innerWidth + ": dark " + view.matchMedia("(prefers-color-scheme: dark)").matches +
        ", fits " + (root.scrollWidth <= root.clientWidth) +
        ", names whole " + Array.from(page.querySelectorAll("tbody th code")).every(function (name) { return name.getClientRects().length === 1; }) +
        ", room for changes " + (!changes || width < 896 || changes.parentNode.clientWidth >= parseFloat(view.getComputedStyle(changes).minWidth));
      document.getElementById("seen").appendChild(item);
    });
    document.body.appendChild(frame);
  });
});
</script>`

// No page scrolls sideways on a telephone or beside an editor, even if everything
// in it is unfolded.
func TestPagesFitNarrowBrowsers(t *testing.T) {
	long, judged := failures(), verified()
	hash := "zh:" + strings.Repeat("0123456789abcdef", 4)
	long.Diagnostics[0].Message, long.Diagnostics[0].Hint = "the package is not "+hash, "compare it with "+hash
	judged.Modules[0].Findings[1].Message, judged.Diagnostics = hash+" belongs to no package", long.Diagnostics
	pages, names := map[string]string{}, ""
	for name, r := range map[string]report.Report{
		"failures": long, "kinds": fixtures(t)["kinds"], "notes": noted(), "held": held(), "verified": judged, "four": estate(4), "many": estate(200),
	} {
		pages["/"+name] = webpage(t, r)
		names += fmt.Sprintf("%q,", name)
	}
	pages["/"] = fmt.Sprintf(measurer, names)
	for _, dark := range []bool{false, true} {
		seen, _ := browsed(t, servePages(t, pages), dark)
		for name := range pages {
			for _, width := range []int{360, 896} {
				want := fmt.Sprintf("<li>%s at %d: dark %t, fits true, names whole true, room for changes true</li>", name[1:], width, dark)
				if name != "/" && !strings.Contains(seen, want) {
					t.Errorf("the browser does not show %q:\n%s", want, regexp.MustCompile(`<li>.*</li>`).FindString(seen))
				}
			}
		}
	}
}

// servePages serves pages by their paths, and returns the address of the root
// page.
func servePages(t *testing.T, pages map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, page)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

var browsedRoots = flag.Int("roots", 100, "root modules of the page that TestPageInABrowser looks at")

// manyRoots is a report of root modules with eight providers each.
func manyRoots(n int) report.Report {
	r := report.Report{Verb: verbs.Check}
	for i := range n {
		m := module(fmt.Sprintf("live/stack-%04d/tool", i))
		for j := range 8 {
			use := report.Use{Addr: addr(fmt.Sprintf("acme/p%d", j)), Version: version(fmt.Sprintf("5.%d.0", i%12+j))}
			m.InUse = append(m.InUse, use)
		}
		r.Modules = append(r.Modules, m)
	}
	return r
}

func TestPageInABrowser(t *testing.T) {
	n := *browsedRoots
	r := manyRoots(n)
	r.Modules[n-1] = verified().Modules[0]
	r.Modules[n-1].InUse = r.Modules[0].InUse
	seen, log := browsed(t, servePages(t, map[string]string{"/": driver, "/report": webpage(t, r)}), false)
	for _, want := range []string{
		"filter is offered: true", fmt.Sprint("rows: ", n), "one left: live/stack-0007/tool", "none left: 0", fmt.Sprint("rows again: ", n),
		"oldest first: 5.0.0 ▾▾", "newest first: 5.11.0", "sorted: descending", "scrolled: true", "names stay: true", "finding left: hash-unknown", "worst first: error", "mildest first: note", "coloured: true", "done: true",
	} {
		if !strings.Contains(seen, "<li>"+want+"</li>") {
			t.Errorf("the browser does not show %q:\n%s\n%s", want, regexp.MustCompile(`<li>.*</li>`).FindString(seen), log)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "CONSOLE") && !strings.Contains(line, "favicon.ico") {
			t.Errorf("the browser complains: %s", line)
		}
	}
}

// browsed is the page after a headless browser ran its scripts, in light or dark
// colours, and the browser's log.
func browsed(t *testing.T, url string, dark bool) (page, log string) {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			browser = found
			break
		}
	}
	if browser == "" {
		t.Skip("Chromium is not on PATH, in which this test looks at the page")
	}
	home := t.TempDir()
	args := []string{"--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
		"--user-data-dir=" + path.Join(home, "profile"), "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", url}
	if dark {
		args = append([]string{"--force-dark-mode"}, args...)
	}
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // Chromium needs it to start as root
	}
	cmd := exec.Command(browser, args...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Skipf("%s is on PATH and does not start, so that no browser looks at the page: %v\n%s", browser, err, said.String())
	}
	return out.String(), said.String()
}
