package tools_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy"
)

const block = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE"

func TestApplyDiffShapes(t *testing.T) {
	for name, args := range map[string]string{
		"blocks":            arguments("path", "a.txt", "diff", block),
		"patch argument":    arguments("file", "a.txt", "patch", block),
		"unified":           arguments("path", "a.txt", "diff", "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"),
		"path from header":  arguments("diff", "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"),
		"path from block":   arguments("diff", "a.txt\n"+block),
		"path overrides":    arguments("path", "a.txt", "diff", "--- old\n+++ new\n@@ -2 +2 @@\n-two\n+2\n"),
		"search, replace":   arguments("path", "a.txt", "search", "two\n", "replace", "2\n"),
		"range":             arguments("path", "a.txt", "start_line", "2", "end_line", 2, "replace", "2"),
		"list of pairs":     `{"path":"a.txt","edits":[{"search":"two","replace":"2"}]}`,
		"list in a string":  `{"path":"a.txt","changes":"[{\"old_string\":\"two\",\"new_string\":\"2\"}]"}`,
		"files":             `{"files":[{"path":"a.txt","diff":` + quoted(block) + `}]}`,
		"args.file":         `{"args":{"file":[{"path":"a.txt","diff":{"content":` + quoted(block) + `,"start_line":"2"}}]}}`,
		"one file":          `{"args":{"file":{"path":"a.txt","diff":[{"content":` + quoted(block) + `}]}}}`,
		"arguments wrapped": `{"arguments":` + arguments("path", "a.txt", "diff", block) + `}`,
		"arguments string":  quoted(arguments("path", "a.txt", "diff", block)),
		"xml":               arguments("path", "<file><path>a.txt</path><diff><content><![CDATA["+block+"]]></content><start_line>2</start_line></diff></file>"),
		"list of strings":   arguments("path", "a.txt", "diff", []string{block}),
		"envelope":          arguments("input", "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"),
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
			action, res := b.do("apply_diff", args)
			b.is("a.txt", "one\n2\nthree\n")
			if !cmp.Equal(action.Paths, []string{"a.txt"}) || action.Kind != policy.Write {
				t.Errorf("intent is %+v", action)
			}
			contains(t, res.Content, "Changed a.txt (+1 −1)")
		})
	}
}

func TestApplyDiffFiles(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "three\nfour\n", "old.txt": "x\ny\nz\n", "gone.txt": "bye\n"})
	action, res := b.do("apply_diff", arguments("diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"+
		"--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n three\n-nothing like it\n+5\n"+
		"--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1 @@\n+fresh\n"))
	b.is("a.txt", "1\ntwo\n")
	b.is("b.txt", "three\nfour\n")
	b.is("sub/new.txt", "fresh\n")
	if !cmp.Equal(action.Paths, []string{"a.txt", "sub/new.txt"}) || !res.Mistake || len(res.Changes) != 2 {
		t.Errorf("intent is %+v, result %+v", action, res)
	}
	contains(t, res.Content, "Not changed: b.txt", "nothing like it", "2 | four")

	action, res = b.do("apply_diff", arguments("diff", "diff --git a/old.txt b/n.txt\nrename from old.txt\nrename to n.txt\n--- a/old.txt\n+++ b/n.txt\n@@ -2 +2 @@\n-y\n+Y\n"))
	b.is("n.txt", "x\nY\nz\n")
	b.fails("read_file", arguments("path", "old.txt"), "not exist")
	if !cmp.Equal(action.Paths, []string{"n.txt", "old.txt"}) || res.Changes[0].Kind != "rename" || res.Changes[0].From != "old.txt" {
		t.Errorf("intent is %+v, result %+v", action, res)
	}
	action, _ = b.do("apply_diff", arguments("diff", "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"))
	if action.Kind != policy.Delete {
		t.Errorf("deleting is of kind %v", action.Kind)
	}
	b.fails("read_file", arguments("path", "gone.txt"), "not exist")
}

func TestApplyDiffRefuses(t *testing.T) {
	b := open(t, map[string]string{"a.txt": "one\ntwo\none\n", "bin.dat": "a\x00"})
	b.fails("apply_diff", arguments("path", "a.txt", "diff", "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE"), "2 places", "line 1", "line 3")
	b.fails("apply_diff", arguments("path", "a.txt", "diff", "just words"), "neither", "A correct call")
	b.fails("apply_diff", arguments("path", "a.txt"), `missing argument "diff"`)
	b.fails("apply_diff", arguments("diff", block), `missing argument "path"`)
	b.fails("apply_diff", arguments("path", "A.txt", "diff", block), "not exist", "did you mean a.txt")
	b.fails("apply_diff", arguments("path", "bin.dat", "diff", block), "binary")
	b.fails("apply_diff", arguments("path", "a.txt", "search", "two"), `missing argument "replace"`)
	b.fails("apply_diff", arguments("path", "a.txt", "search", "two", "replace", "two"), "the same")
	b.fails("apply_diff", arguments("path", "a.txt", "start_line", 2, "end_line", 9, "replace", "x"), "has 3 lines")
	b.fails("apply_diff", arguments("path", "a.txt", "start_line", 2, "replace", "x"), "end_line")
	b.fails("apply_diff", arguments("diff", "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"), "there already")
	b.is("a.txt", "one\ntwo\none\n")
	b.do("apply_diff", arguments("path", "a.txt", "diff", "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE", "start_line", 3))
	b.is("a.txt", "one\ntwo\n1\n")
}
