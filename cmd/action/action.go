// Package action is what a workflow run of GitHub Actions says of itself, and is told
// of: the event, the inputs and the token come from the runner's environment, outputs,
// the summary, the log and annotations go back to it. It runs no session.
//
//	action.go   the environment of a run, and its time
//	machine.go  what workspaces see of the runner
//	events.go   which events bring a task
//	home.go     the thread that a pull request belongs to
//	refuse.go   events that are not worked on, and why
//	log.go      what happens, in groups of the log
//	report.go   outputs, the summary, annotations
//	believe.go  what waits in the ref, as GitHub has it
//	setback.go  a ref that was put back
//	sweep.go    refs of threads that are over
//	repo.go     the repository with the refs of threads
package action

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Login is the account that a workflow's own token writes as.
const Login = "github-actions[bot]"

// Run is one run of a workflow.
type Run struct {
	Event   string // its name
	Payload []byte
	Repo    thread.Ref // without a number
	API     string     // with a slash at the end
	Server  string     // address of the web pages, without a slash
	Token   secret.Value
	ID      int64
	Attempt int
	Temp    string // directory for what ends with the job

	KeepDays int // for which the ref of a closed thread is kept, 0 for ever

	began           time.Time
	Output, Summary string // files that the runner reads, "" for none

	Inputs Inputs
}

// Inputs are the inputs of the action, each from a variable INPUT_NAME.
type Inputs struct {
	Model, Form, Ollama, BaseURL, Workspace, Image, Config, Login string
	Task, Mode, Issue                                             string // for events that bring no words
	Timeout                                                       string // of the job, in minutes
	APIKey, StateKey                                              secret.Value
}

// Read reads the environment. Its errors say all that is missing at once.
func Read(getenv func(string) string) (Run, error) {
	var wrong []error
	var missing []string
	need := func(name string) string {
		v := getenv(name)
		if v == "" {
			missing = append(missing, name)
		}
		return v
	}
	number := func(name string) int64 {
		v := need(name)
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil && v != "" {
			wrong = append(wrong, fmt.Errorf("%s is not a number", name))
		}
		return n
	}
	r := Run{
		began: time.Now(), Event: need("GITHUB_EVENT_NAME"), API: strings.TrimRight(need("GITHUB_API_URL"), "/") + "/", Server: strings.TrimRight(need("GITHUB_SERVER_URL"), "/"),
		Output: getenv("GITHUB_OUTPUT"), Summary: getenv("GITHUB_STEP_SUMMARY"), Temp: getenv("RUNNER_TEMP"), Token: secret.Value(getenv("INPUT_TOKEN")),
	}
	repository := need("GITHUB_REPOSITORY")
	owner, name, ok := strings.Cut(repository, "/")
	if err := thread.ValidateRepository(owner, name); (!ok || err != nil) && repository != "" {
		wrong = append(wrong, fmt.Errorf("GITHUB_REPOSITORY: %q is not owner/name", repository))
	}
	r.Repo = thread.Ref{Owner: owner, Repo: name}
	r.ID, r.Attempt = number("GITHUB_RUN_ID"), int(number("GITHUB_RUN_ATTEMPT"))
	var err error
	if path := need("GITHUB_EVENT_PATH"); path != "" {
		if r.Payload, err = os.ReadFile(path); err != nil {
			wrong = append(wrong, fmt.Errorf("read the event: %w", err))
		}
	}
	if len(missing) > 0 {
		need("INPUT_TOKEN")
		wrong = append(wrong, fmt.Errorf("handrail action runs as a step of a workflow (see docs/action), and not set here: %s. On a machine of yours, `handrail run` works in a clone", strings.Join(missing, ", ")))
	} else if r.Token == "" {
		wrong = append(wrong, errors.New("no token: the input token is empty; its default is the token of the job"))
	}
	in := func(name string) string { // a shell in between may take a name with a hyphen away
		return strings.TrimSpace(cmp.Or(getenv("INPUT_"+name), getenv("INPUT_"+strings.ReplaceAll(name, "-", "_"))))
	}
	r.Inputs = Inputs{
		Model: in("MODEL"), Form: in("FORM"), Ollama: in("OLLAMA"), BaseURL: in("BASE-URL"), Workspace: in("WORKSPACE"), Image: in("IMAGE"), Config: in("CONFIG"), Login: in("LOGIN"),
		Task: in("TASK"), Mode: in("MODE"), Issue: in("ISSUE"), Timeout: in("TIMEOUT-MINUTES"),
		APIKey: secret.Value(in("API-KEY")), StateKey: secret.Value(in("STATE-KEY")),
	}
	if r.KeepDays, err = keepDays(in("KEEP-DAYS")); err != nil {
		wrong = append(wrong, err)
	}
	return r, errors.Join(wrong...)
}

// longestJob is how many minutes a job has that says nothing of it.
const longestJob = 360

// Ends is when a run stops its work by itself, so that what it did is saved when the
// runner ends the job. The job began when the runner wrote its event.
func (r Run) Ends(getenv func(string) string) (time.Time, error) {
	minutes := float64(longestJob)
	if r.Inputs.Timeout != "" {
		var err error
		if minutes, err = strconv.ParseFloat(r.Inputs.Timeout, 64); err != nil || !(minutes > 0) {
			return time.Time{}, fmt.Errorf("timeout-minutes: %q is not a number of minutes", r.Inputs.Timeout)
		}
	}
	now := time.Now()
	began, all := now, time.Duration(min(minutes, 100*longestJob)*float64(time.Minute))
	if written, err := os.Stat(getenv("GITHUB_EVENT_PATH")); err == nil && written.ModTime().Before(now) && written.ModTime().Add(all).After(now) { // what was copied into a container has no time
		began = written.ModTime()
	}
	ends := began.Add(all - min(all/10, 2*time.Minute)) //control:before-the-job-ends
	if ends.Before(now.Add(time.Second)) {
		return ends, fmt.Errorf("%w before anything was begun, so nothing was: the job needs more time than timeout-minutes", ErrTime)
	}
	return ends, nil
}

// since is when what the event tells of happened: what was said later is new, although
// the job may have waited for a runner.
func (r Run) since() time.Time {
	ev, _ := ghapp.ParseEvent(r.Event, r.Payload) // it was read before
	return cmp.Or(ev.Comment.Updated, ev.Review.Submitted, ev.Updated, time.Now())
}

// Owner is how the run signs leases.
func (r Run) Owner() string { return fmt.Sprintf("run-%d-%d", r.ID, r.Attempt) }

// parseOwner returns the run that signed a lease. It reports false for others.
func parseOwner(owner string) (id int64, attempt int, ok bool) {
	n, err := fmt.Sscanf(owner, "run-%d-%d", &id, &attempt)
	return id, attempt, n == 2 && err == nil && Run{ID: id, Attempt: attempt}.Owner() == owner
}

// Ref is where the thread's state is kept.
func Ref(prefix string, at thread.Ref) string { return prefix + "thread-" + strconv.Itoa(at.Number) }

// CloneURL is where the repository is cloned from.
func (r Run) CloneURL() string { return r.Server + "/" + r.Repo.Repository() + ".git" }
