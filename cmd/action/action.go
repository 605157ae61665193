// Package action is the interface between handrail and a workflow run of GitHub Actions.
// The event, the inputs and the token come from the runner's environment; outputs, the
// summary, the log and annotations go back to it. It runs no session.
//
//	action.go   the environment of a run, and its time limit
//	model.go    waiting for the model
//	machine.go  the runner's programs that workspaces see
//	events.go   events that bring a task
//	home.go     the thread of a pull request
//	refuse.go   refused events, with reasons
//	log.go      the session's events, in groups of the log
//	report.go   outputs, the summary, annotations
//	believe.go  checks of the ref's inbox against GitHub
//	setback.go  a ref that was reset to an earlier state
//	sweep.go    refs of closed threads
//	state.go    the store of threads, and holders of leases
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

// Login is the account of a workflow's own token.
const Login = "github-actions[bot]"

// Run is a workflow run.
type Run struct {
	Event   string // its name
	Payload []byte
	Repo    thread.Ref // without a number
	API     string     // with a slash at the end
	Server  string     // address of the web pages, without a trailing slash
	Token   secret.Value
	ID      int64
	Attempt int
	Temp    string // directory that ends with the job

	KeepDays  int           // days to keep the ref of a closed thread, 0 means for ever
	ModelWait time.Duration // for a model's server that does not answer

	began           time.Time
	Output, Summary string // files that the runner reads, "" if there are none

	Inputs Inputs
}

// Inputs are the inputs of the action, each from the variable INPUT_NAME.
type Inputs struct {
	Model, Form, Ollama, BaseURL, Workspace, Image, Config, Login string
	Task, Mode, Issue                                             string // for events without a comment
	Timeout                                                       string // of the job, in minutes
	APIKey, StateKey                                              secret.Value
}

// Read reads the environment. Its error lists everything that is missing.
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
		wrong = append(
			wrong,
			fmt.Errorf(
				"handrail action runs as a step of a workflow (see docs/action); not set here: %s. On your own machine, `handrail run` works in a clone",
				strings.Join(missing, ", "),
			),
		)
	} else if r.Token == "" {
		wrong = append(wrong, errors.New("no token: the input token is empty; its default is the token of the job"))
	}
	in := func(name string) string { // a shell may drop names with a hyphen
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
	if r.ModelWait, err = minutes("model-wait", cmp.Or(in("MODEL-WAIT"), "2"), true); err != nil {
		wrong = append(wrong, err)
	}
	return r, errors.Join(wrong...)
}

// minutes reads an input that is a number of minutes.
func minutes(input, text string, zero bool) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0) || n == 0 && !zero {
		return 0, fmt.Errorf("%s: %q is not a number of minutes", input, text)
	}
	return time.Duration(min(n, 100*defaultMinutes) * float64(time.Minute)), nil
}

// defaultMinutes is the default time limit of a job, in minutes.
const defaultMinutes = 360

// Ends returns the time at which the run stops its work, early enough to save it before
// the runner ends the job. The job began when the runner wrote its event.
func (r Run) Ends(getenv func(string) string) (time.Time, error) {
	all, err := minutes("timeout-minutes", cmp.Or(r.Inputs.Timeout, strconv.Itoa(defaultMinutes)), false)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	began := now
	if written, err := os.Stat(getenv("GITHUB_EVENT_PATH")); err == nil && written.ModTime().Before(now) &&
		written.ModTime().Add(all).After(now) { // a copied file has no usable time
		began = written.ModTime()
	}
	ends := began.Add(all - min(all/10, 2*time.Minute)) //control:before-the-job-ends
	if ends.Before(now.Add(time.Second)) {
		return ends, fmt.Errorf(
			"%w before the work began, so nothing was done: the job needs a longer timeout-minutes",
			ErrTime,
		)
	}
	return ends, nil
}

// since returns the time of the event. Later comments are new, even if the job waited for
// a runner.
func (r Run) since() time.Time {
	ev, _ := ghapp.ParseEvent(r.Event, r.Payload) // it was parsed before
	return cmp.Or(ev.Comment.Updated, ev.Review.Submitted, ev.Updated, time.Now())
}

// Owner returns the run's name as an owner of leases.
func (r Run) Owner() string { return fmt.Sprintf("run-%d-%d", r.ID, r.Attempt) }

// parseOwner returns the run that owns a lease. It reports false for other owners.
func parseOwner(owner string) (id int64, attempt int, ok bool) {
	n, err := fmt.Sscanf(owner, "run-%d-%d", &id, &attempt)
	return id, attempt, n == 2 && err == nil && Run{ID: id, Attempt: attempt}.Owner() == owner
}

// Ref returns the name of the ref with a thread's state.
func Ref(prefix string, at thread.Ref) string { return prefix + "thread-" + strconv.Itoa(at.Number) }

// CloneURL returns the address for cloning the repository.
func (r Run) CloneURL() string { return r.Server + "/" + r.Repo.Repository() + ".git" }
