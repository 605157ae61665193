package policy

import (
	"fmt"
	"slices"
	"testing"
)

// grants says, role by role, what a successful lookup lets an account do. It
// is written from the promise, one letter for each request in the order view,
// read task, change, settle, steer, rewind, raise limit; "-" is no.
var grants = map[string]string{
	"admin":    "vacstrl",
	"maintain": "vacstrl",
	"write":    "vacstr-",
	"triage":   "va--t--",
	"read":     "v------",
	"none":     "-------",
	"stranger": "-------", // a permission nobody knows
}

// answers are what GitHub's permission call may come to.
var answers = []Lookup{Found, NotFound, Forbidden, Failed, NotAsked}

func TestPermissionTable(t *testing.T) {
	requests := []Request{View, AskRead, AskChange, Settle, Steer, Rewind, RaiseLimit}
	wrong, cells := 0, 0
	for role, row := range grants {
		for i, r := range requests {
			for _, lookup := range answers {
				cells++
				a := Actor{ID: 7, Login: "octocat", Permission: role, Lookup: lookup}
				want := Deny
				if lookup == Found && row[i] != '-' {
					want = Allow
				}
				got, why := MayAsk(a, AskFacts{Request: r, RequesterID: 8})
				if got != want || why == "" {
					wrong++
					t.Errorf("%s, %s, lookup %d: %s (%s), want %s", role, r, lookup, got, why, want)
				}
				approve, _ := MayApprove(a, ApprovalFacts{RequesterID: 8})
				if r == Settle && approve != want {
					wrong++
					t.Errorf("%s approves, lookup %d: %s, want %s", role, lookup, approve, want)
				}
			}
		}
	}
	t.Logf("permissions: %d cells, wrong %d", cells, wrong)
	if cells != 7*7*5 || wrong > 0 {
		t.Errorf("%d wrong of %d", wrong, cells)
	}
}

func TestMayAskEdges(t *testing.T) {
	admin := Actor{ID: 7, Login: "octocat", Permission: "admin", Lookup: Found}
	change := func(f func(*Actor)) Actor { a := admin; f(&a); return a }
	for name, c := range map[string]struct {
		actor Actor
		facts AskFacts
		want  Verdict
	}{
		"zero actor":             {Actor{}, AskFacts{Request: View}, Deny},
		"zero request":           {admin, AskFacts{}, Deny},
		"request out of range":   {admin, AskFacts{Request: 99}, Deny},
		"no id":                  {change(func(a *Actor) { a.ID = 0 }), AskFacts{Request: View}, Deny},
		"not looked up":          {change(func(a *Actor) { a.Lookup = NotAsked }), AskFacts{Request: View}, Deny},
		"lookup out of range":    {change(func(a *Actor) { a.Lookup = 9 }), AskFacts{Request: View}, Deny},
		"bot":                    {change(func(a *Actor) { a.Bot = true }), AskFacts{Request: AskRead}, Deny},
		"bot on the list":        {change(func(a *Actor) { a.Bot = true; a.Permission = "none" }), AskFacts{Request: AskChange, Bots: []int64{7}}, Allow},
		"other bot on the list":  {change(func(a *Actor) { a.Bot = true }), AskFacts{Request: AskChange, Bots: []int64{8}}, Deny},
		"listed bot, 404":        {change(func(a *Actor) { a.Bot = true; a.Lookup = NotFound }), AskFacts{Request: AskChange, Bots: []int64{7}}, Deny},
		"listed bot, error":      {change(func(a *Actor) { a.Bot = true; a.Lookup = Failed }), AskFacts{Request: AskChange, Bots: []int64{7}}, Deny},
		"person on the bot list": {change(func(a *Actor) { a.Permission = "none" }), AskFacts{Request: AskChange, Bots: []int64{7}}, Deny},
		"own session, read":      {change(func(a *Actor) { a.Permission = "read" }), AskFacts{Request: Steer, RequesterID: 7}, Allow},
		"own stop, read":         {change(func(a *Actor) { a.Permission = "read" }), AskFacts{Request: Stop, RequesterID: 7}, Allow},
		"own stop, unknown":      {change(func(a *Actor) { a.Permission, a.Lookup = "", Failed }), AskFacts{Request: Stop, RequesterID: 7}, Allow},
		"own stop, gone":         {change(func(a *Actor) { a.Permission, a.Lookup = "", NotFound }), AskFacts{Request: Stop, RequesterID: 7}, Deny},
		"other stop, unknown":    {change(func(a *Actor) { a.Permission, a.Lookup = "", Failed }), AskFacts{Request: Stop, RequesterID: 8}, Deny},
		"own retry, unknown":     {change(func(a *Actor) { a.Permission, a.Lookup = "", Failed }), AskFacts{Request: Steer, RequesterID: 7}, Deny},
		"nobody stops":           {Actor{Lookup: Failed}, AskFacts{Request: Stop}, Deny},
		"own session, none":      {change(func(a *Actor) { a.Permission = "none" }), AskFacts{Request: Steer, RequesterID: 7}, Deny},
		"own session, undo":      {change(func(a *Actor) { a.Permission = "read" }), AskFacts{Request: Rewind, RequesterID: 7}, Deny},
		"capital permission":     {change(func(a *Actor) { a.Permission = "Admin" }), AskFacts{Request: AskChange}, Deny},
	} {
		if got, why := MayAsk(c.actor, c.facts); got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

func TestMayApprove(t *testing.T) {
	person := func(permission string) Actor {
		return Actor{ID: 7, Login: "owner", Permission: permission, Lookup: Found}
	}
	team := person("read")
	team.Teams = []string{"Acme/Security"}
	owner := person("write")
	owner.CodeOwner = true
	weakOwner := person("triage")
	weakOwner.CodeOwner = true
	bot := person("admin")
	bot.Bot = true
	for name, c := range map[string]struct {
		actor Actor
		facts ApprovalFacts
		want  Verdict
	}{
		"write is enough":              {person("write"), ApprovalFacts{}, Allow},
		"triage is not":                {person("triage"), ApprovalFacts{}, Deny},
		"requester may":                {person("write"), ApprovalFacts{RequesterID: 7}, Allow},
		"requester may not":            {person("admin"), ApprovalFacts{RequesterID: 7, NotRequester: true}, Deny},
		"another person then":          {person("write"), ApprovalFacts{RequesterID: 8, NotRequester: true}, Allow},
		"listed by id":                 {person("read"), ApprovalFacts{Groups: [][]string{{"user:7"}}}, Allow},
		"listed by id without access":  {person("none"), ApprovalFacts{Groups: [][]string{{"user:7"}}}, Deny},
		"look-alike with another id":   {Actor{ID: 70, Login: "0wner", Permission: "admin", Lookup: Found}, ApprovalFacts{Groups: [][]string{{"user:7"}}}, Deny},
		"same login, other id":         {Actor{ID: 9, Login: "owner", Permission: "admin", Lookup: Found}, ApprovalFacts{Groups: [][]string{{"user:7"}}}, Deny},
		"login in the list":            {person("admin"), ApprovalFacts{Groups: [][]string{{"owner", "user:owner", "user:07x"}}}, Deny},
		"team":                         {team, ApprovalFacts{Groups: [][]string{{"team:acme/security"}}}, Allow},
		"other team":                   {team, ApprovalFacts{Groups: [][]string{{"team:acme/web"}}}, Deny},
		"code owner":                   {owner, ApprovalFacts{Groups: [][]string{{"codeowners"}}}, Allow},
		"code owner without write":     {weakOwner, ApprovalFacts{Groups: [][]string{{"codeowners"}}}, Deny},
		"not the code owner":           {person("admin"), ApprovalFacts{Groups: [][]string{{"codeowners"}}}, Deny},
		"both lists":                   {owner, ApprovalFacts{Groups: [][]string{{"write"}, {"codeowners"}}}, Allow},
		"only one list":                {person("write"), ApprovalFacts{Groups: [][]string{{"write"}, {"maintain"}}}, Deny},
		"empty list":                   {person("admin"), ApprovalFacts{Groups: [][]string{{}}}, Deny},
		"bot":                          {bot, ApprovalFacts{}, Deny},
		"bot in the approvers":         {bot, ApprovalFacts{Groups: [][]string{{"user:7"}}}, Deny},
		"bot on the list":              {bot, ApprovalFacts{Bots: []int64{7}}, Allow},
		"bot on the list as requester": {bot, ApprovalFacts{Bots: []int64{7}, RequesterID: 7, NotRequester: true}, Deny},
	} {
		if got, why := MayApprove(c.actor, c.facts); got != c.want || why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

func TestModesTable(t *testing.T) {
	want := map[string]string{ // edits, turns, kinds
		"code":      "-1 25 read write delete execute network post converse mcp foreign",
		"architect": "3 25 read write execute network post converse mcp foreign",
		"ask":       "0 25 read execute network converse mcp foreign",
		"debug":     "5 25 read write delete execute network post converse mcp foreign",
		"explore":   "0 10 read converse",
		"plan":      "0 10 read converse",
		"review":    "0 10 read execute converse",
		"security":  "0 10 read execute converse",
		"triage":    "0 10 read post converse",
	}
	for _, m := range Modes() {
		got := fmt.Sprint(m.EditLimit, m.Turns)
		for _, k := range m.allowed() {
			got += " " + k.String()
		}
		if got != want[m.Name] || m.Description == "" {
			t.Errorf("mode %s: %q, want %q", m.Name, got, want[m.Name])
		}
		if again, err := ParseMode(" " + m.Name + "\n"); err != nil || again != m {
			t.Errorf("ParseMode(%q) = %+v, %v", m.Name, again, err)
		}
		readOnly := slices.Contains([]string{"ask", "explore", "plan", "review", "security", "triage"}, m.Name)
		if m.ReadOnly() != readOnly {
			t.Errorf("mode %s: read-only is %v", m.Name, m.ReadOnly())
		}
	}
	if len(Modes()) != len(want) {
		t.Errorf("%d modes", len(Modes()))
	}
	Modes()[0].Name = "changed"
	if Modes()[0].Name != "code" {
		t.Error("Modes hands out its own table")
	}
	for _, s := range []string{"", "codee", "root"} {
		if m, err := ParseMode(s); err == nil || m != (Mode{}) {
			t.Errorf("ParseMode(%q) = %+v, %v", s, m, err)
		}
	}
}
