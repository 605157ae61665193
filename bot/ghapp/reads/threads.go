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

// ReviewThread is a review thread on lines of a pull request.
type ReviewThread struct {
	Path      string
	Line      int // in the new file, or in the old one if Left is set; 0 means the whole file
	StartLine int // 0 for a single line
	Left      bool
	Outdated  bool // the lines have changed since; Line is the original position
	Hunk      string
	Comments  []Comment // the first comment and the newest 20
	Total     int       // number of comments

	Talk       string   // node id of the thread
	Resolved   bool     //
	ResolvedBy string   // empty if unknown
	Against    []string // logins with a thumbs-down on the first comment
}

// ReviewThreadList is the unresolved review threads of a pull request, in GitHub's
// order.
type ReviewThreadList struct {
	List     []ReviewThread
	Resolved int // number of threads skipped as resolved
	Unread   int // number of threads beyond the limit
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

// ReviewThreads returns the unresolved review threads of a pull request, at most most.
func ReviewThreads(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int) (ReviewThreadList, error) {
	return threads(ctx, c, ref, most, false)
}

// AllThreads returns the review threads of a pull request, including resolved ones.
func AllThreads(ctx context.Context, c *ghapp.Client, ref thread.Ref) ([]ReviewThread, error) {
	got, err := threads(ctx, c, ref, threadPage*threadPages, true)
	return got.List, err
}

func threads(
	ctx context.Context,
	c *ghapp.Client,
	ref thread.Ref,
	most int,
	resolved bool,
) (out ReviewThreadList, err error) {
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
	out := ReviewThread{
		Path:      t.Path,
		Line:      t.Line,
		StartLine: t.StartLine,
		Left:      t.DiffSide == "LEFT",
		Outdated:  t.IsOutdated,
		Total:     t.Opening.TotalCount,
		Talk:      t.ID,
		Resolved:  t.IsResolved,
	}
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
	cm := Comment{
		Position: position,
		Relation: g.AuthorAssociation,
		Body:     g.Body,
		HTML:     g.BodyHTML,
		URL:      g.URL,
		Created:  g.CreatedAt,
	}
	cm.ID, _ = strconv.ParseInt(g.ID, 10, 64) // 0 if the server returns no id
	if g.Author != nil {                      // nil for a deleted account
		cm.Author, cm.Bot = g.Author.Login, g.Author.Type == "Bot"
		if cm.Bot && !strings.HasSuffix(cm.Author, "[bot]") { // the form of the REST API
			cm.Author += "[bot]"
		}
	}
	if g.LastEditedAt != nil {
		cm.Edited = *g.LastEditedAt
	}
	return cm
}

// Linked returns the related issues of the same repository: for a pull request those
// that merging it closes, for an issue those that its text mentions. Unreadable issues
// are left out. It returns at most most issues, and the number of further ones.
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
			continue // deleted, or in another repository
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, one)
	}
	return out, left, nil
}

// closing returns the issues of the repository that a pull request closes. total
// includes those of other repositories.
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
	hiddenRE  = pattern.Lazy("(?s)<!--.*?(?:-->|$)|(?m:^ {0,3}(```|~~~)).*?(?:(?m:^ {0,3}(?:```|~~~))|$)|`[^`\n]*`")
	mentionRE = pattern.Lazy(`(?:^|[^\w#&/.-])([\w-]+/[\w.-]+)?#([1-9][0-9]{0,8})\b`)
)

// mentioned are the issues that a text names as #N or OWNER/NAME#N, outside of
// code and of hidden text, each once.
func mentioned(is ghapp.Issue) (out []int) {
	seen := map[int]bool{is.Ref.Number: true}
	for _, m := range mentionRE().FindAllStringSubmatch(hiddenRE().ReplaceAllString(is.Body, " "), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || seen[n] || m[1] != "" && !strings.EqualFold(m[1], is.Ref.Repository()) {
			continue
		}
		seen[n] = true
		out = append(out, n)
	}
	return out
}
