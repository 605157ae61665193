package workspace

import "context"

// Pages shows pages that a server in the workspace serves, in a browser that runs inside.
type Pages interface {
	Page(ctx context.Context, step PageStep) (PageView, error)
}

// PageAction is the kind of a [PageStep].
type PageAction string

// The actions. PageLaunch is the first: it starts the browser if there is none. After PageClose
// there is none.
const (
	PageLaunch     PageAction = "launch"
	PageClick      PageAction = "click"
	PageHover      PageAction = "hover"
	PageType       PageAction = "type"
	PagePress      PageAction = "press"
	PageScrollUp   PageAction = "scroll_up"
	PageScrollDown PageAction = "scroll_down"
	PageResize     PageAction = "resize"
	PageScreenshot PageAction = "screenshot"
	PageClose      PageAction = "close"
)

// The size of the viewport in pixels: the one at launch, which is the maximum, and the minimum.
const (
	PageWidth     = 1280
	PageHeight    = 800
	MinPageWidth  = 200
	MinPageHeight = 150
)

// PageStep is one action in the browser. An element is a number of the last outline, a CSS
// selector, or a point.
type PageStep struct {
	Action   PageAction `json:"action"`
	URL      string     `json:"url,omitempty"`
	Ref      int        `json:"ref,omitempty"` // from 1; 0 means none
	Selector string     `json:"selector,omitempty"`
	Point    *PagePoint `json:"point,omitempty"` // also the size of PageResize
	Text     string     `json:"text,omitempty"`  // to type, or the key to press
	Picture  bool       `json:"picture,omitempty"`
}

// PagePoint is a point of the viewport, or its size, in pixels.
type PagePoint struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// PageView is the page after a step. All its texts are those of the page: untrusted, and one line each.
type PageView struct {
	URL     string   `json:"url"`
	Title   string   `json:"title"`
	Outline []string `json:"outline"` // of the viewport, in reading order
	Above   int      `json:"above"`   // elements beyond the viewport
	Below   int      `json:"below"`
	// Gone and New are the lines by which the outline differs from that of the previous step. Same
	// reports whether there was one of the same page.
	Gone    []string `json:"gone,omitempty"`
	New     []string `json:"new,omitempty"`
	Same    bool     `json:"same,omitempty"`
	Console []string `json:"console,omitempty"` // errors and warnings since the previous step
	Failed  []string `json:"failed,omitempty"`  // requests since then
	Left    int      `json:"left,omitempty"`    // number of errors and requests beyond the limit
	Notes   []string `json:"notes,omitempty"`   // dialogs, downloads and windows, as sentences
	Picture []byte   `json:"-"`                 // PNG or JPEG; nil if none was asked for
}

func (v *PageView) bulk() *[]byte { return &v.Picture }

// Chromium returns the name of the browser in the workspace, "" if there is none.
func (w *Workspace) Chromium(ctx context.Context) (string, error) {
	var name string
	err := w.call(ctx, MethodChromium, nil, &name)
	return name, err
}

// Page carries out a step in the browser of the workspace.
func (w *Workspace) Page(ctx context.Context, step PageStep) (PageView, error) {
	var v PageView
	err := w.call(ctx, MethodPage, step, &v)
	return v, err
}
