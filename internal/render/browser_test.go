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

// driver is a page of the same origin that looks at the report as a person does:
// it types into the filter, clicks a heading, and writes down what it sees.
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
	report := webpage(t, r)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, driver)
		case "/report":
			fmt.Fprint(w, report)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	seen, log := browsed(t, server.URL+"/")
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

// browsed is the page as it is in a browser without a window once its scripts ran,
// and what the browser says of it.
func browsed(t *testing.T, url string) (page, log string) {
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
	if os.Geteuid() == 0 {
		args = append([]string{"--no-sandbox"}, args...) // Chromium does not start for root else
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
