package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/handrail-bot/handrail/agent/session"
)

// A model that calls no tools sees all the files that its task changes, although the request
// names none of them.
func TestViewHoldsTheFilesToChange(t *testing.T) {
	tasks, err := filepath.Glob("../../testdata/ladder/*.txtar")
	if err != nil || len(tasks) == 0 {
		t.Fatal("no tasks", err)
	}
	for _, name := range tasks {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		task := txtar.Parse(data)
		head := string(task.Comment)
		if !strings.Contains(head, "\nside: tune\n") {
			continue
		}
		_, request, _ := strings.Cut(head, "request: ")
		request, _, _ = strings.Cut(request, "\n")
		files := map[string]string{}
		var changed []string
		for _, f := range task.Files {
			if path, ok := strings.CutPrefix(f.Name, "repo/"); ok {
				files[path] = string(f.Data)
			}
			if path, ok := strings.CutPrefix(f.Name, "solution/"); ok {
				changed = append(changed, path)
			}
		}
		view := View(t.Context(), request, open(t, files), nil)
		for _, path := range changed {
			if files[path] != "" && !slices.ContainsFunc(view, func(it session.Item) bool { return it.Name == path }) {
				t.Errorf("%s: %s is not in view, %d files are", filepath.Base(name), path, len(view))
			}
		}
	}
}

// A file that only imports or exports others, and a manifest, are not shown if other files have the
// words of the request, unless the request speaks of them.
func TestViewLeavesOutFilesThatOnlyLead(t *testing.T) {
	const list = "function list(prices) {\n  return prices;\n}\n\nmodule.exports = { list };\n"
	const page = "def banner(name):\n    \"\"\"Return the first line.\"\"\"\n    return \"Dear \" + name\n"
	tests := map[string]struct {
		request string
		files   map[string]string
		view    string
	}{
		"exports": {
			request: "Prices should be in euros, in the list.",
			files: map[string]string{
				"src/list.js":  list,
				"src/index.js": "'use strict';\n\nmodule.exports = { ...require('./list') };\n",
				"package.json": "{\"name\": \"shop\"}\n",
			},
			view: "src/list.js",
		},
		"the program of the tests": {
			request: "The program should listen on port 8080.",
			files:   map[string]string{"check.sh": "grep -q 'port: 8080' server.yml\n", "server.yml": "port: 80\n", "notes.md": "It has a port.\n"},
			view:    "notes.md server.yml",
		},
		"an example": {
			request: "Prices should be in euros, in the list.",
			files:   map[string]string{"list.js": list, "example/list.js": "console.log(require('../list').list([1]));\n"},
			view:    "list.js",
		},
		"the example itself": {
			request: "The example should print two prices.",
			files:   map[string]string{"list.js": list, "example/two.js": "console.log(require('../list').list([1]));\n"},
			view:    "example/two.js list.js",
		},
		"a rename": {
			request: "Rename list to rows everywhere.",
			files: map[string]string{
				"src/list.js":  list,
				"src/index.js": "const { list } = require('./list');\n\nmodule.exports = { list };\n",
			},
			view: "src/index.js src/list.js",
		},
		"a Python package": {
			request: "People should be greeted with Hello instead of Dear.",
			files: map[string]string{
				"shop/page.py":     page,
				"shop/__init__.py": "from .page import banner\n\n__all__ = [\"banner\"]\n",
			},
			view: "shop/page.py",
		},
		"a list of names": {
			request: "The program should listen on port 8080.",
			files: map[string]string{
				"page.py":     page,
				"settings.py": "host = \"localhost\"\nport = 80\n",
			},
			view: "page.py settings.py",
		},
		"a manifest with a word of the request": {
			request: "Raise the version to 2.",
			files:   map[string]string{"package.json": "{\"version\": \"1\"}\n", "list.js": list},
			view:    "list.js package.json",
		},
		"nothing else": {
			request: "Make it faster.",
			files:   map[string]string{"notes.txt": "Buy milk.\n"},
			view:    "notes.txt",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, it := range View(t.Context(), tt.request, open(t, tt.files), []string{"sh check.sh"}) {
				names = append(names, it.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != tt.view {
				t.Errorf("view %q, want %q", got, tt.view)
			}
		})
	}
}

// Of a long file the functions with the words of the request are shown. A file of other lines is shown as
// a whole if it is not too long.
func TestViewOfLongFiles(t *testing.T) {
	var long strings.Builder
	for i := range 700 {
		fmt.Fprintf(&long, "def f%d(x):\n    return x + %d  # price %d\n\n\n", i, i, i)
	}
	long.WriteString("def discount(price):\n    return price * 0.9\n")
	const part = "def discount(price):\n    return price * 0.9"
	values := strings.Repeat("PRICE = 1  # a price of the list\n", 230)
	for name, tt := range map[string]struct {
		request, file, text, want string
	}{
		"not named":           {"The discount should be 5 %.", "shop.py", long.String(), part},
		"named":               {"The discount in shop.py should be 5 %.", "shop.py", long.String(), part},
		"without functions":   {"The price is 2 now.", "values.py", values, values},
		"too long for a view": {"The price is 2 now.", "values.py", values + values, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got session.Item
			view := View(t.Context(), tt.request, open(t, map[string]string{tt.file: tt.text, "README.md": "Our price list.\n"}), nil)
			for _, it := range view {
				if it.Name == tt.file {
					got = it
				}
			}
			ok := got.Text == tt.want && got.Part == (tt.want == part)
			if tt.want == part {
				ok = got.Part && strings.HasSuffix(got.Text, part) && len(got.Text) <= maxViewPart
			}
			if !ok {
				t.Errorf("part %t, %d bytes: %.200s", got.Part, len(got.Text), got.Text)
			}
		})
	}
}
