package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

const block = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE"

func TestApplyDiffShapes(t *testing.T) {
	longtest.Leave(t)
	for name, args := range map[string]string{
		"blocks":            toolstest.Arguments("path", "a.txt", "diff", block),
		"patch argument":    toolstest.Arguments("file", "a.txt", "patch", block),
		"unified":           toolstest.Arguments("path", "a.txt", "diff", "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"),
		"path from header":  toolstest.Arguments("diff", "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"),
		"path from block":   toolstest.Arguments("diff", "a.txt\n"+block),
		"path overrides":    toolstest.Arguments("path", "a.txt", "diff", "--- old\n+++ new\n@@ -2 +2 @@\n-two\n+2\n"),
		"search, replace":   toolstest.Arguments("path", "a.txt", "search", "two\n", "replace", "2\n"),
		"range":             toolstest.Arguments("path", "a.txt", "start_line", "2", "end_line", 2, "replace", "2"),
		"list of pairs":     `{"path":"a.txt","edits":[{"search":"two","replace":"2"}]}`,
		"list in a string":  `{"path":"a.txt","changes":"[{\"old_string\":\"two\",\"new_string\":\"2\"}]"}`,
		"files":             `{"files":[{"path":"a.txt","diff":` + toolstest.Quoted(block) + `}]}`,
		"args.file":         `{"args":{"file":[{"path":"a.txt","diff":{"content":` + toolstest.Quoted(block) + `,"start_line":"2"}}]}}`,
		"one file":          `{"args":{"file":{"path":"a.txt","diff":[{"content":` + toolstest.Quoted(block) + `}]}}}`,
		"arguments wrapped": `{"arguments":` + toolstest.Arguments("path", "a.txt", "diff", block) + `}`,
		"arguments string":  toolstest.Quoted(toolstest.Arguments("path", "a.txt", "diff", block)),
		"xml":               toolstest.Arguments("path", "<file><path>a.txt</path><diff><content><![CDATA["+block+"]]></content><start_line>2</start_line></diff></file>"),
		"list of strings":   toolstest.Arguments("path", "a.txt", "diff", []string{block}),
		"envelope":          toolstest.Arguments("input", "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"),
	} {
		t.Run(name, func(t *testing.T) {
			b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
			action, res := b.Do("apply_diff", args)
			b.Is("a.txt", "one\n2\nthree\n")
			if !cmp.Equal(action.Paths, []string{"a.txt"}) || action.Kind != policy.Write {
				t.Errorf("intent is %+v", action)
			}
			toolstest.Contains(t, res.Content, "Changed a.txt (+1 −1)")
		})
	}
}

func TestApplyDiffFiles(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "three\nfour\n", "old.txt": "x\ny\nz\n", "gone.txt": "bye\n"})
	action, res := b.Do("apply_diff", toolstest.Arguments("diff", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"+
		"--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n three\n-nothing like it\n+5\n"+
		"--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1 @@\n+fresh\n"))
	b.Is("a.txt", "1\ntwo\n")
	b.Is("b.txt", "three\nfour\n")
	b.Is("sub/new.txt", "fresh\n")
	if !cmp.Equal(action.Paths, []string{"a.txt", "sub/new.txt"}) || !res.Mistake || len(res.Changes) != 2 {
		t.Errorf("intent is %+v, result %+v", action, res)
	}
	toolstest.Contains(t, res.Content, "Not changed: b.txt", "nothing like it", "2 | four")

	action, res = b.Do("apply_diff", toolstest.Arguments("diff", "diff --git a/old.txt b/n.txt\nrename from old.txt\nrename to n.txt\n--- a/old.txt\n+++ b/n.txt\n@@ -2 +2 @@\n-y\n+Y\n"))
	b.Is("n.txt", "x\nY\nz\n")
	b.Fails("read_file", toolstest.Arguments("path", "old.txt"), "not exist")
	if !cmp.Equal(action.Paths, []string{"n.txt", "old.txt"}) || res.Changes[0].Kind != "rename" || res.Changes[0].From != "old.txt" {
		t.Errorf("intent is %+v, result %+v", action, res)
	}
	action, _ = b.Do("apply_diff", toolstest.Arguments("diff", "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"))
	if action.Kind != policy.Delete {
		t.Errorf("deleting is of kind %v", action.Kind)
	}
	b.Fails("read_file", toolstest.Arguments("path", "gone.txt"), "not exist")
}

func TestApplyDiffRefuses(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\ntwo\none\n", "bin.dat": "a\x00"})
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "diff", "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE"), "2 places", "line 1", "line 3")
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "diff", "just words"), "neither", "A correct call")
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt"), `missing argument "diff"`)
	b.Fails("apply_diff", toolstest.Arguments("diff", block), `missing argument "path"`)
	b.Fails("apply_diff", toolstest.Arguments("path", "A.txt", "diff", block), "not exist", "did you mean a.txt")
	b.Fails("apply_diff", toolstest.Arguments("path", "bin.dat", "diff", block), "binary")
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "search", "two"), `missing argument "replace"`)
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "search", "two", "replace", "two"), "the same")
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "start_line", 2, "end_line", 9, "replace", "x"), "has 3 lines")
	b.Fails("apply_diff", toolstest.Arguments("path", "a.txt", "start_line", 2, "replace", "x"), "end_line")
	b.Fails("apply_diff", toolstest.Arguments("diff", "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"), "there already")
	b.Is("a.txt", "one\ntwo\none\n")
	b.Do("apply_diff", toolstest.Arguments("path", "a.txt", "diff", "<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE", "start_line", 3))
	b.Is("a.txt", "one\ntwo\n1\n")
}
