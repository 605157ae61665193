package reads

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// ReviewThread is a talk about lines of a pull request.
type ReviewThread struct {
	Path      string
	Line      int // of the new file, or with Left of the old one; 0 for the whole file
	StartLine int // 0 for a single line
	Left      bool
	Outdated  bool // the lines have changed since; Line is where they were
	Hunk      string
	Comments  []Comment // the first, and the newest 20
	Total     int       // comments

	Talk       string   // its node id
	Resolved   bool     //
	ResolvedBy string   // "" where GitHub does not say
	Against    []string // who gave the first comment a thumbs-down
}

// ReviewThreadList is the unresolved threads of a pull request, in its order.
type ReviewThreadList struct {
	List     []ReviewThread
	Resolved int // threads that are left out for that
	Unread   int // threads that nobody looked at, because there were so many before
}

const (
	threadPage  = 50
	threadPages = 6
)

type graphComment struct {
	ID     string `json:"fullDatabaseId"`
	Author *struct {
		Type  string `json:"__typename"`
		Login string
	}
	AuthorAssociation, Body, BodyHTML, URL, DiffHunk string
	CreatedAt                                        time.Time
	LastEditedAt                                     *time.Time
	Reactions                                        struct {
		Nodes []struct{ User *struct{ Login string } }
	}
}

type graphThread struct {
	ID                            string
	IsResolved, IsOutdated        bool
	ResolvedBy                    *struct{ Login string }
	Path, DiffSide                string
	Line, StartLine, OriginalLine int
	OriginalStartLine             int
	Opening                       struct {
		TotalCount int
		Nodes      []graphComment
	}
	Newest struct{ Nodes []graphComment }
}

// ReviewThreads returns the unresolved review threads of a pull request, at most
// most of them.
func ReviewThreads(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int) (ReviewThreadList, error) {
	return threads(ctx, c, ref, most, false)
}

// AllThreads returns the review threads of a pull request, those that are resolved as well.
func AllThreads(ctx context.Context, c *ghapp.Client, ref thread.Ref) ([]ReviewThread, error) {
	got, err := threads(ctx, c, ref, threadPage*threadPages, true)
	return got.List, err
}

func threads(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int, resolved bool) (out ReviewThreadList, err error) {
	vars := map[string]any{"first": threadPage, "after": nil}
	seen := 0
	for range threadPages {
		var got struct {
			ReviewThreads struct {
				TotalCount int
				PageInfo   struct {
					HasNextPage bool
					EndCursor   string
				}
				Nodes []graphThread
			}
		}
		if err := c.Query(ctx, ghapp.ReviewThreads, ref, vars, &got); err != nil {
			return ReviewThreadList{}, err
		}
		for _, t := range got.ReviewThreads.Nodes {
			if len(out.List) == most {
				break
			}
			seen++
			if t.IsResolved && !resolved {
				out.Resolved++
				continue
			}
			out.List = append(out.List, t.read())
		}
		out.Unread = max(0, got.ReviewThreads.TotalCount-seen)
		if !got.ReviewThreads.PageInfo.HasNextPage || len(out.List) == most {
			break
		}
		vars["after"] = got.ReviewThreads.PageInfo.EndCursor
	}
	return out, nil
}

func (t graphThread) read() ReviewThread {
	out := ReviewThread{Path: t.Path, Line: t.Line, StartLine: t.StartLine, Left: t.DiffSide == "LEFT", Outdated: t.IsOutdated, Total: t.Opening.TotalCount, Talk: t.ID, Resolved: t.IsResolved}
	if t.ResolvedBy != nil {
		out.ResolvedBy = t.ResolvedBy.Login
	}
	if out.Line == 0 {
		out.Line, out.StartLine = t.OriginalLine, t.OriginalStartLine
	}
	list := t.Newest.Nodes
	if open := t.Opening.Nodes; len(open) > 0 {
		out.Hunk = open[0].DiffHunk
		for _, r := range open[0].Reactions.Nodes {
			if r.User != nil {
				out.Against = append(out.Against, r.User.Login)
			}
		}
		if len(list) == 0 || list[0].ID != open[0].ID {
			out.Comments = append(out.Comments, open[0].read(1))
		}
	}
	for i, cm := range list {
		out.Comments = append(out.Comments, cm.read(out.Total-len(list)+i+1))
	}
	return out
}

func (g graphComment) read(position int) Comment {
	cm := Comment{Position: position, Relation: g.AuthorAssociation, Body: g.Body, HTML: g.BodyHTML, URL: g.URL, Created: g.CreatedAt}
	cm.ID, _ = strconv.ParseInt(g.ID, 10, 64) // 0 where the server has none
	if g.Author != nil {                      // nil for an account that is gone
		cm.Author, cm.Bot = g.Author.Login, g.Author.Type == "Bot"
		if cm.Bot && !strings.HasSuffix(cm.Author, "[bot]") { // as the REST API calls it
			cm.Author += "[bot]"
		}
	}
	if g.LastEditedAt != nil {
		cm.Edited = *g.LastEditedAt
	}
	return cm
}

// Linked returns the issues of the same repository that a thread is about: those
// that merging a pull request closes, and for an issue those that its text
// names. What cannot be read is left out. It returns at most most, and how many
// more there are.
func Linked(ctx context.Context, c *ghapp.Client, is ghapp.Issue, most int) (out []ghapp.Issue, left int, err error) {
	numbers, total := mentioned(is), 0
	if is.IsPull {
		if numbers, total, err = closing(ctx, c, is.Ref); err != nil {
			return nil, 0, err
		}
	}
	left = max(total-len(numbers), len(numbers)-most, 0)
	for _, n := range numbers[:min(len(numbers), most)] {
		ref := is.Ref
		ref.Number = n
		one, err := c.Issue(ctx, ref)
		if ghapp.KindOf(err) == ghapp.Permanent && err != nil {
			continue // it is gone, or somewhere else
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, one)
	}
	return out, left, nil
}

// closing are the issues of the repository that a pull request closes; total
// counts those of other repositories as well.
func closing(ctx context.Context, c *ghapp.Client, ref thread.Ref) (numbers []int, total int, err error) {
	var got struct {
		ClosingIssuesReferences struct {
			TotalCount int
			Nodes      []struct {
				Number     int
				Repository struct{ NameWithOwner string }
			}
		}
	}
	err = c.Query(ctx, ghapp.ClosingIssues, ref, map[string]any{"first": threadPage}, &got)
	for _, n := range got.ClosingIssuesReferences.Nodes {
		if strings.EqualFold(n.Repository.NameWithOwner, ref.Repository()) {
			numbers = append(numbers, n.Number)
		}
	}
	return numbers, got.ClosingIssuesReferences.TotalCount, err
}

var (
	notSaid   = pattern.Lazy("(?s)<!--.*?(?:-->|$)|(?m:^ {0,3}(```|~~~)).*?(?:(?m:^ {0,3}(?:```|~~~))|$)|`[^`\n]*`")
	mentionRE = pattern.Lazy(`(?:^|[^\w#&/.-])([\w-]+/[\w.-]+)?#([1-9][0-9]{0,8})\b`)
)

// mentioned are the issues that a text names as #N or OWNER/NAME#N, outside of
// code and of what is not shown, each once.
func mentioned(is ghapp.Issue) (out []int) {
	seen := map[int]bool{is.Ref.Number: true}
	for _, m := range mentionRE().FindAllStringSubmatch(notSaid().ReplaceAllString(is.Body, " "), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || seen[n] || m[1] != "" && !strings.EqualFold(m[1], is.Ref.Repository()) {
			continue
		}
		seen[n] = true
		out = append(out, n)
	}
	return out
}
