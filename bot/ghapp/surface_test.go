package ghapp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNoApproveNoMerge reads the sources: nothing here can approve, dismiss
// or merge, and no code outside can get at the raw client.
func TestNoApproveNoMerge(t *testing.T) {
	forbidden := []string{"Merge", "EnableAutoMerge", "SubmitReview", "DismissReview", "UpdateBranch", "MergeUpstream", "CreatePendingReview"}
	words := []string{"APPROVE", "/merge", "/merges", "mergePullRequest", "enablePullRequestAutoMerge", "addPullRequestReview", "/graphql"}
	for _, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				for _, name := range forbidden {
					if n.Sel.Name == name {
						t.Errorf("call of %s", name)
					}
				}
			case *ast.BasicLit:
				s, err := strconv.Unquote(n.Value)
				if err != nil {
					return true
				}
				for _, w := range words {
					if strings.Contains(s, w) {
						t.Errorf("string with %q", w)
					}
				}
			}
			return true
		})
	}
}

// TestReviewsAreComments: the one place that gives a review says COMMENT.
func TestReviewsAreComments(t *testing.T) {
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
	for _, f := range sources(t) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			ast.Inspect(fn.Type.Results, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if id, ok := sel.X.(*ast.Ident); ok && id.Name == "github" {
						t.Errorf("%s returns github.%s", fn.Name.Name, sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
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
		f, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
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
