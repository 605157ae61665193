package ghapp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNoApproveNoMerge reads the sources: nothing here can approve, dismiss
// or merge, and no code outside can get at the raw client.
func TestNoApproveNoMerge(t *testing.T) {
	t.Parallel()
	forbidden := []string{"Merge", "EnableAutoMerge", "SubmitReview", "DismissReview", "UpdateBranch", "MergeUpstream", "CreatePendingReview"}
	words := []string{"APPROVE", "/merge", "/merges", "mergePullRequest", "enablePullRequestAutoMerge", "addPullRequestReview", "mutation"}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(forbidden, sel.Sel.Name) {
				t.Errorf("call of %s", sel.Sel.Name)
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
				t.Errorf("string %s", lit.Value)
			}
			return true
		})
	}
}

// TestGraphQLOnlyAsks: what is sent by GraphQL is one of the files in queries, of
// which each holds one query, but for the two that resolve a thread and end a draft and do
// nothing else, and no other place makes the address.
func TestGraphQLOnlyAsks(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("queries/*.graphql")
	if err != nil || len(names) < 2 {
		t.Fatalf("queries: %v, %v", names, err)
	}
	mutations := map[string]struct {
		of   Query
		text string
	}{
		"resolve_thread.graphql": {resolveThread, "mutation ResolveThread($input: ResolveReviewThreadInput!) " +
			"{ resolveReviewThread(input: $input) { thread { isResolved } } }"},
		"mark_ready.graphql": {markReady, "mutation MarkReady($input: MarkPullRequestReadyForReviewInput!) " +
			"{ markPullRequestReadyForReview(input: $input) { pullRequest { isDraft } } }"},
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if do, ok := mutations[filepath.Base(name)]; ok {
			if !slices.Equal(strings.Fields(string(text)), strings.Fields(do.text)) || queries[do.of].text != string(text) {
				t.Errorf("%s does something else: %s", name, text)
			}
			continue
		}
		if !strings.HasPrefix(string(text), "query ") || strings.Contains(string(text), "mutation") || strings.Contains(string(text), "subscription") {
			t.Errorf("%s is not a query alone", name)
		}
	}
	made, embedded := 0, 0
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, "graphql") {
				made++
			}
			if c, ok := n.(*ast.Comment); ok && strings.HasPrefix(c.Text, "//go:embed queries/") {
				embedded++
			}
			return true
		})
	}
	if made != 2 || embedded != len(names) {
		t.Errorf("the address is made in %d places, want 2, both of App.graphQL; %d of %d queries are embedded", made, embedded, len(names))
	}
}

// TestReviewsAreComments: the one place that gives a review says COMMENT.
func TestReviewsAreComments(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range sources(t) {
		ast.Inspect(f, func(node ast.Node) bool {
			kv, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if id, ok := kv.Key.(*ast.Ident); !ok || id.Name != "Event" {
				return true
			}
			call, ok := kv.Value.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			n++
			if lit, ok := call.Args[0].(*ast.BasicLit); !ok || lit.Value != `"COMMENT"` {
				t.Error("a review with another event")
			}
			return true
		})
	}
	if n != 1 {
		t.Errorf("reviews are given in %d places, want 1", n)
	}
}

// TestRawClientIsNotExported: no exported name gives a go-github type away.
func TestRawClientIsNotExported(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Name.IsExported() && fn.Type.Results != nil && mentionsGitHub(fn.Type.Results) {
				t.Errorf("%s returns a type of go-github", fn.Name.Name)
			}
		}
	}
}

func mentionsGitHub(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			id, ok := sel.X.(*ast.Ident)
			found = found || (ok && id.Name == "github")
		}
		return true
	})
	return found
}

func sources(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	if len(out) < 8 {
		t.Fatalf("read only %d files", len(out))
	}
	return out
}
