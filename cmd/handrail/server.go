package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/compact"
	"github.com/handrail-bot/handrail/agent/index"
	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/seat"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/bot"
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/bot/fault"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/outbox"
	"github.com/handrail-bot/handrail/bot/queue"
	"github.com/handrail-bot/handrail/bot/quota"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/sqlstore"
	"github.com/handrail-bot/handrail/bot/sweep"
	"github.com/handrail-bot/handrail/bot/webhook"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/cmd/telemetry"
	"github.com/handrail-bot/handrail/cmd/watchers"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// serverOptions are the settings that differ in the demo, in workflow runs and in tests.
type serverOptions struct {
	spacing time.Duration // between writes to GitHub
	settle  time.Duration
	every   time.Duration // between edits of a progress comment
	ttl     time.Duration // of leases
	again   time.Duration // before failed work is retried
	sweep   time.Duration // between searches for threads without a worker
	watch   time.Duration // between checks of GitHub and the model
	missed  time.Duration // between searches for missed deliveries
	grace   time.Duration // for work to end by itself at shutdown
	poll    time.Duration // between looks of the dashboard at a log of which the database tells

	now       func() time.Time              // the bot's clock for deadlines and budgets; nil means time.Now
	unlimited bool                          // serve without limits and without isolation
	transport http.RoundTripper             // for GitHub, git and the model
	wrap      func(store.Store) store.Store // decorates the store for the bot and the webhook
	login     string                        // of the bot, if GitHub cannot be asked for it
	owner     string                        // of leases; empty generates a unique name
	shown     func(session.Event)           // receives the events of sessions
	inRun     bool                          // a workflow run, which sorts no opened issue
	away      func(error)                   // receives each failure to reach a session's model; may be nil
	// receives faults of configurations and workspaces; nil makes workspaces required
	fault   func(error)
	machine *workspace.Machine // the runner's parts that workspaces see
	spare   *workspace.Machine // this machine's parts that containers see if their image is missing
}

// server is the whole bot in one process.
type server struct {
	cfg           config.Server
	log           *slog.Logger
	secrets       *secrets
	store         *sqlstore.Store
	app           *ghapp.App
	git           *gitops.Store
	engine        *work.Engine
	model         func(name string) (llm.Model, error)
	forms         agent.Forms // nil in a workflow run, which has no machine of its own
	seats         *seat.Models
	lull          index.Lull       // of conversations
	index         *index.Index     // nil without a model for it
	indexed       *records.Indexed // progress of index; nil without one
	workspace     string           // name of the workspace engine
	onMachine     bool             // containers have this machine's programs
	queue         *queue.Queue
	http          *http.Server
	addr          net.Addr
	watch         *readiness
	failed        chan error
	wait          sync.WaitGroup
	stop          context.CancelFunc // stops the loops beside the queue
	opt           serverOptions
	bot           *bot.Bot
	redactedStore store.Store
	pages         *board // the dashboard; nil without one
	told          *deliveryLog
	metrics       *telemetry.Metrics // nil without them
	traces        *telemetry.Traces  // nil without them
	speeds        telemetry.Speeds
	scraped       net.Addr // of the metrics
	scrapes       *http.Server
	version       string
	since         time.Time // of the start
}

// newServer connects the parts. Nothing runs before start.
func newServer(ctx context.Context, w *console, cfg config.Server, opt serverOptions) (s *server, err error) {
	if s, w, err = newParts(w, cfg, opt); err != nil { //nolint:contextcheck // traces last until closed
		return nil, err
	}
	defer func() { //nolint:contextcheck // closed after the context has ended
		if err != nil {
			err = errors.Join(err, s.closeParts())
		}
	}()
	if s.store, err = records.Open(ctx, cfg, w.log); err != nil {
		return s, err
	}
	s.forms = newForms(formsConfig{File: filepath.Join(cfg.Data, formsName), Server: serverOf(cfg.Model), Log: w.log})
	r, err := s.build(ctx, w, s.store.Store)
	if err != nil {
		return s, err
	}
	if err := s.newQueue(r, s.store.River); err != nil {
		return s, err
	}
	return s, s.newPages()
}

// newParts returns a server without a store. Its console logs no secrets.
func newParts(w *console, cfg config.Server, opt serverOptions) (*server, *console, error) {
	known, err := serverSecrets(cfg)
	if err != nil {
		return nil, nil, err
	}
	inner := *w
	inner.options = opt
	inner.log = secret.Logger(w.log, known.Redactor)
	metrics, traces, err := newTelemetry(cfg, w.version, known.Redactor, &inner)
	if err != nil {
		return nil, nil, err
	}
	return &server{
		metrics: metrics,
		traces:  traces,
		cfg:     cfg,
		log:     inner.log,
		secrets: known,
		failed:  make(chan error, 1),
		opt:     opt,
		version: w.version,
	}, &inner, nil
}

// build makes all parts that need the store.
func (s *server) build(ctx context.Context, w *console, kept store.Store) (*serveRunner, error) {
	cfg, known := s.cfg, s.secrets
	if err := os.MkdirAll(cfg.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	// All servers that share a webhook recognize each other's comments.
	own, err := secret.DeriveKey(cmp.Or(cfg.GitHub.WebhookSecret, cfg.LogKey), "own words")
	if err != nil {
		return nil, err
	}
	if s.app, err = ghapp.New(ghapp.Config{
		Own:        own,
		APIURL:     cfg.GitHub.API,
		AppID:      cfg.GitHub.AppID,
		PrivateKey: cfg.GitHub.Key,
		Token:      cfg.GitHub.Token.Reveal(),
		Login:      s.opt.login,
		Clean:      known.outgoing,
		Inert:      command.Inert,
		Lookups:    cfg.Quotas.Lookups,
		Limits: quota.Limits{
			PerMinute: cfg.Quotas.WritesPerMinute,
			PerHour:   cfg.Quotas.WritesPerHour,
			Reserve:   cfg.Quotas.Reserve,
		},
		Log:       w.log,
		Spacing:   s.opt.spacing,
		Backoff:   s.opt.again,
		Transport: outbox.Fenced{Next: s.metrics.Transport(s.transport(time.Minute))},
	}); err != nil {
		return nil, err
	}
	s.redactedStore = kept
	anchored := retain.AnchoredLogs{Logs: kept.Logs, Meta: kept.Meta, Key: known.signing}
	s.redactedStore.Logs = redactedLogs{anchored, known.Redactor}
	if s.cfg.Dashboard.Listen != "" {
		s.redactedStore.Logs = watchedLogs{s.redactedStore.Logs, func(id string) { s.pages.grown(id) }}
	}
	if s.opt.wrap != nil {
		s.redactedStore = s.opt.wrap(s.redactedStore)
	}
	s.redactedStore = s.metrics.Store(s.redactedStore)
	s.told = newDeliveryLog(w.log, s.metrics.Waited)
	s.redactedStore = s.told.of(s.redactedStore)
	r := &serveRunner{server: s, clients: map[string]*ghapp.Client{}}
	if s.git, err = gitops.New(gitops.Config{Dir: filepath.Join(cfg.Data, "mirrors"), Partial: cfg.GitHub.PartialClone == nil || *cfg.GitHub.PartialClone, Auth: r.auth, Log: w.log, HTTP: outbox.Fenced{Next: s.transport(0)}}); err != nil {
		return nil, err
	}
	if s.model, err = opener(s.cfg.Model, s.log); err != nil {
		return nil, err
	}
	s.seats = seat.New(s.cfg.Model.Slots())
	if err := s.newIndex(); err != nil { //nolint:contextcheck // the index lasts until closed
		return nil, err
	}
	if err = s.openEngine(ctx, w); err != nil &&
		s.opt.fault != nil { // unready is reported in the threads that need a workspace
		r.unready, err = err, nil
	}
	return r, err
}

// transport returns the transport for all outgoing requests. wait limits the time until
// the response headers; 0 means no limit.
func (s *server) transport(wait time.Duration) http.RoundTripper {
	if s.opt.transport != nil {
		return s.opt.transport
	}
	t, ok := config.Transport(s.cfg.GitHub.Trusted, nil).(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = wait
	endSilent(t, maxSilence)
	return t
}

// hasVision reports whether a model can see pictures. It reports true if the model's
// server does not answer; the session finds out.
func (s *server) hasVision(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	m, err := s.model(name)
	if err != nil {
		return true
	}
	caps, err := m.Capabilities(ctx)
	return err != nil || caps.Vision
}

// contextRoom returns the number of bytes of a thread that fit into a third of a model's
// context; the rest is for the work. It assumes a small context if the model's server
// does not answer.
func (s *server) contextRoom(ctx context.Context, name string) int {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var caps llm.Capabilities
	if m, err := s.model(name); err == nil {
		caps, _ = m.Capabilities(ctx) // the zero value if the server does not answer
	}
	return compact.Ratio{}.Bytes(agent.LargestContext(s.cfg.Model.Context, caps) / 3)
}

// newQueue makes the bot and the queue that hands it threads.
func (s *server) newQueue(r *serveRunner, jobs queue.Engine) (err error) {
	table := watchers.All()
	if s.opt.inRun {
		table = watchers.OfRun()
	}
	s.bot, err = bot.New(bot.Config{
		Store:    s.redactedStore,
		GitHub:   s.app,
		Runner:   r,
		Offers:   r,
		Watchers: table,
		Clone: local.Clone{
			Mirror: r.mirror,
			Rules:  rules,
		},
		Quotas:       newQuotas(s.cfg.Quotas),
		Policy:       s.cfg.Policy,
		Model:        s.cfg.Model.Name,
		Dashboard:    s.cfg.Dashboard.URL,
		Repositories: s.cfg.GitHub.Served(),
		Apps:         s.cfg.GitHub.Apps,
		Sees:         s.hasVision,
		Room:         s.contextRoom,
		More:         s.more,
		Settle:       s.opt.settle,
		Every:        s.opt.every,
		TTL:          s.opt.ttl,
		Owner:        s.opt.owner,
		Now:          s.opt.now,
		Log:          s.log,
	})
	if err != nil {
		return err
	}
	s.watch = s.newWatch()
	var backoff func(int) time.Duration
	if s.opt.again > 0 {
		backoff = func(int) time.Duration { return s.opt.again }
	}
	s.queue, err = queue.New(queue.Config{
		Store: s.redactedStore, River: jobs, Owner: s.opt.owner, Work: s.work, Later: fault.Temporary, Log: s.log,
		TTL: s.opt.ttl, Backoff: backoff, Sweep: s.opt.sweep, Grace: s.opt.grace,
		Limits: queue.Limits{Total: s.cfg.Sessions.AtOnce, Repo: s.cfg.Sessions.PerRepo, User: s.cfg.Sessions.PerUser},
	})
	return err
}

// work runs the bot on a thread. If the server's disk is full, it tells the operator, and
// the job stays in the queue until there is room.
func (s *server) work(ctx context.Context, thread string) error {
	err := s.bot.Work(ctx, thread)
	s.note(ctx, thread, err)
	if errors.Is(err, syscall.ENOSPC) && bytesLeft(s.cfg.Data) < minServerSpace {
		return &diskFullError{s.cfg.Data, err}
	}
	return fullDisk(err)
}

func (s *server) more(thread string) <-chan struct{} { return s.queue.More(thread) }

func (s *server) openEngine(ctx context.Context, w *console) error {
	ws, err := pickWorkspace(ctx, w, s.cfg.Workspace, s.cfg.Policy.Workspace)
	if err != nil {
		return err
	}
	if err := mustLimit(ctx, ws, s.cfg.Policy.Workspace.Unlimited || s.opt.unlimited); err != nil {
		return err
	}
	s.workspace, s.cfg.Policy.Workspace.Engine = ws.Name(), ws.Name()
	s.onMachine = s.opt.spare != nil && onMachine(ctx, ws)
	if err := s.cfg.Policy.CheckEffect(); err != nil { // the effect depends on the engine
		return fmt.Errorf("policy.%w", err)
	}
	w.log.InfoContext(ctx, "workspaces", "engine", ws.Name(), "limits", boundsOf(ctx, ws))
	set, err := records.OfServer(
		layer.Config{
			Dir:      filepath.Join(s.cfg.Data, "work", "layers"),
			MaxBytes: int64(s.cfg.Layers.Size),
			MaxAge:   time.Duration(s.cfg.Layers.Age),
		},
		s.redactedStore.Meta,
	)
	if err != nil {
		return err
	}
	guests, err := guestsOf(s.cfg)
	if err != nil {
		return err
	}
	s.engine, err = newEngine(engineParts{
		guests: guests,
		setups: set,
		dir:    filepath.Join(s.cfg.Data, "work"),
		bases: gitops.BasesConfig{
			Dir:      filepath.Join(s.cfg.Data, "work", "bases"),
			MaxBytes: int64(s.cfg.Bases.Size),
			MaxAge:   time.Duration(s.cfg.Bases.Age),
		},
		workspace: ws,
		model:     s.measured,
		waits:     true,
		context:   s.cfg.Model.Context,
		maxTokens: s.cfg.Model.MaxTokens,
		longest:   time.Duration(s.cfg.Model.AnswerTime),
		rules:     s.cfg.Policy,
		headers:   s.cfg.ServerHeaders,
		secrets:   s.secrets,
		index:     s.index,
		log:       w.log,
		form:      s.cfg.Model.Answers(),
		forms:     s.forms,
	})
	return err
}

// start listens and begins to work.
func (s *server) start(ctx context.Context) error {
	keeper := records.New(records.Config{
		Server: s.cfg, Store: s.store, Key: s.secrets.signing, App: s.app, Git: s.git, Engine: s.engine, Bot: s.bot,
		Transport: s.transport(time.Minute), Every: s.opt.missed, Now: s.opt.now, Log: s.log,
	})
	mux := http.NewServeMux()
	if secret := s.cfg.GitHub.WebhookSecret; secret != "" || s.cfg.GitHub.Poll == 0 { //control:no-secret-no-webhook
		hook, err := webhook.New(
			webhook.Config{
				Secret: []byte(secret.Reveal()),
				Intake: s.redactedStore.Deliveries,
				Parse:  keeper.WatchRemovals(s.bot.Source),
				Log:    s.log,
			},
		)
		if err != nil {
			return err
		}
		mux.Handle("/webhook", hook)
	}
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("/readyz/deliveries", s.readyz)
	mux.HandleFunc("/status", s.status)
	l, err := net.Listen("tcp", s.cfg.Listen)
	if err != nil {
		const how = "name another address with `listen` in the configuration, or --listen"
		return fmt.Errorf("listen on %s: %w; %s", s.cfg.Listen, err, how)
	}
	s.addr, s.since = l.Addr(), time.Now()
	s.http = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	if err := s.queue.Start(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := s.bot.Reconcile(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	s.wait.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve: %w", err)
		}
	})
	s.startLoops(ctx, keeper)
	return errors.Join(s.startMetrics(), s.startPages()) //nolint:contextcheck // metrics are served until the shutdown
}

// startLoops starts the loops that run beside the queue.
func (s *server) startLoops(ctx context.Context, keeper *records.Keeper) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.wait.Go(func() { s.watch.Run(ctx) })
	s.wait.Go(func() { s.follow(ctx) })
	s.wait.Go(func() {
		if err := watchers.Read(ctx, s.redactedStore, s.cfg.GitHub.Served()...); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "schedules are not read", "err", err)
		}
		sweep.Every{
			Pause: cmp.Or(s.opt.missed, 20*time.Second),
			Log:   s.log,
		}.Run(
			ctx,
			"look at schedules",
			watchers.Look(s.redactedStore),
		)
	})
	s.wait.Go(func() { sweep.KeepSpent(ctx, s.app, s.redactedStore.Meta, s.log) })
	s.wait.Go(func() { sweep.Forget(ctx, s.redactedStore.Deliveries, s.log) })
	s.wait.Go(func() { keeper.Run(ctx) })
	if every := time.Duration(s.cfg.GitHub.Poll); every > 0 && s.cfg.GitHub.AppID != 0 {
		s.wait.Go(func() {
			sweep.Poll(ctx, sweep.PollConfig{
				GitHub: s.app,
				Store:  s.redactedStore,
				Source: keeper.WatchRemovals(s.bot.Source),
				Hears:  ghapp.Hears,
				Every:  cmp.Or(s.opt.missed, every),
				Log:    s.log,
			})
		})
		return
	}
	if s.cfg.GitHub.AppID == 0 {
		s.wait.Go(func() { s.lister().Run(ctx) })
		return
	}
	sw := sweep.New(
		sweep.Config{GitHub: s.app, Meta: s.redactedStore.Meta, Hears: ghapp.Hears, Every: s.opt.missed, Log: s.log},
	)
	s.wait.Go(func() { sw.Run(ctx) })
}

func (s *server) url() string { return "http://" + s.addr.String() }

// readyz reports whether deliveries can be stored and, except at /readyz/deliveries,
// whether the services for their work are available. Stored deliveries wait for those.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.store.Deliveries.Unknown(ctx, "readyz"); err != nil {
		s.log.WarnContext(ctx, "not ready", "err", err)
		answer(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	if wrong := s.watch.Troubles(); len(wrong) > 0 && r.URL.Path == "/readyz" {
		answer(
			w,
			http.StatusServiceUnavailable,
			strings.Join(wrong, "\n")+"\nDeliveries are stored, and wait with the sessions.",
		)
		return
	}
	answer(w, http.StatusOK, "ready")
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may be gone
}

// close stops taking deliveries, lets sessions park, and closes everything.
func (s *server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs []error
	if s.http != nil {
		if s.stop != nil {
			s.stop()
		}
		errs = append(errs, s.pages.close(ctx), s.http.Shutdown(ctx), s.closeMetrics(ctx), s.queue.Drain(ctx))
		s.wait.Wait()
	}
	return errors.Join(append(errs, s.closeParts())...) //nolint:contextcheck // closed after the context has ended
}

func (s *server) closeParts() error {
	s.index.Close()
	errs := []error{s.traces.Close(context.Background())}
	if s.git != nil {
		errs = append(errs, s.git.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}
