package ghtest

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

func getRepo(c *call) (int, any, error) {
	v := c.s.repoShape(c.repo)
	role := c.repo.RoleOn(c.who.user)
	if c.who.inst() == nil && c.who.user != nil {
		rank := hub.RoleRank[role]
		v["permissions"] = object{
			"admin":    rank >= 5,
			"maintain": rank >= 4,
			"push":     rank >= 3,
			"triage":   rank >= 2,
			"pull":     true,
		}
	}
	return 200, v, nil
}

func getPermission(c *call) (int, any, error) {
	u := c.s.Users[strings.ToLower(c.params["username"])]
	if u == nil {
		return 0, nil, &hub.Refused{Status: http.StatusNotFound, Message: c.params["username"] + " is not a user"}
	}
	role := c.repo.RoleOn(u)
	user := c.s.userShape(u).(object)
	user["role_name"] = role
	return 200, object{"permission": hub.PermissionOf(role), "role_name": role, "user": user}, nil
}

func getBranch(c *call) (int, any, error) {
	name := c.params["branch"]
	sha := c.repo.Dir.Branch(name)
	if sha == "" {
		return 0, nil, &hub.Refused{Status: http.StatusNotFound, Message: "Branch not found"}
	}
	commit, err := c.s.commitShape(c.repo, sha)
	if err != nil {
		return 0, nil, err
	}
	_, protected := c.repo.Protected[name]
	return 200, object{"name": name, "commit": commit, "protected": protected}, nil
}

// commitShape reads one commit from git.
func (s *shaper) commitShape(r *hub.Repo, sha string) (object, error) {
	out, err := r.Dir.RunCached(
		"show",
		"-s",
		"--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B",
		sha,
	)
	if err != nil {
		return nil, err
	}
	f := strings.SplitN(out, "\x00", 10)
	if len(f) < 10 {
		return nil, hub.NotFound()
	}
	parents := []object{}
	for _, p := range strings.Fields(f[2]) {
		parents = append(parents, object{"sha": p, "url": s.api(r, "/git/commits/"+p), "html_url": s.page(r, "/commit/"+p)})
	}
	author := func(name, mail, at string) object { return object{"name": name, "email": mail, "date": at} }
	return object{"sha": f[0], "url": s.api(r, "/commits/"+f[0]), "html_url": s.page(r, "/commit/"+f[0]),
		"parents": parents, "author": nil, "committer": nil,
		"commit": object{"message": strings.TrimRight(f[9], "\n"), "comment_count": 0,
			"tree":   object{"sha": f[1], "url": s.api(r, "/git/trees/"+f[1])},
			"author": author(f[3], f[4], f[5]), "committer": author(f[6], f[7], f[8])}}, nil
}

func getCommit(c *call) (int, any, error) {
	sha := c.repo.Dir.Resolve(c.params["ref"])
	if sha == "" {
		return 0, nil, &hub.Refused{Status: 422, Message: "No commit found for SHA: " + c.params["ref"]}
	}
	v, err := c.s.commitShape(c.repo, sha)
	return 200, v, err
}

// rawType is the media type of raw file content.
const rawType = "application/vnd.github.raw+json; charset=utf-8"

func getContent(c *call) (int, any, error) {
	ref := c.query("ref")
	if ref == "" {
		ref = c.repo.DefaultBranch
	}
	sha := c.repo.Dir.Resolve(ref)
	if sha == "" {
		return 0, nil, &hub.Refused{Status: http.StatusNotFound, Message: "No commit found for the ref " + ref}
	}
	name := strings.Trim(c.params["path"], "/")
	list, err := c.repo.Dir.Tree(sha, name)
	if err != nil {
		return 0, nil, err
	}
	if len(list) != 1 {
		return 0, nil, hub.NotFound()
	}
	e := list[0]
	if e.Kind == "tree" {
		return listDirectory(c, e, name)
	}
	data, err := c.repo.Dir.Run(nil, "cat-file", "blob", e.SHA)
	if err != nil {
		return 0, nil, err
	}
	if strings.Contains(c.r.Header.Get("Accept"), "raw") {
		c.header.Set("Content-Type", rawType)
		return 200, []byte(data), nil
	}
	v := c.s.contentShape(c.repo, e, name)
	v["encoding"], v["content"], v["size"] = "base64", base64.StdEncoding.EncodeToString([]byte(data)), len(data)
	return 200, c.s.filled("content-file", v), nil
}

func (s *shaper) contentShape(r *hub.Repo, e bare.Entry, name string) object {
	kind := map[string]string{"tree": "dir", "blob": "file", "commit": "submodule"}[e.Kind]
	return object{"type": kind, "name": path.Base(name), "path": name, "sha": e.SHA, "size": 0,
		"url": s.api(r, "/contents/"+name), "html_url": s.page(r, "/blob/HEAD/"+name)}
}

func listDirectory(c *call, e bare.Entry, name string) (int, any, error) {
	list, err := c.repo.Dir.Tree(e.SHA, "")
	if err != nil {
		return 0, nil, err
	}
	out := []object{}
	for _, sub := range list {
		out = append(out, c.s.contentShape(c.repo, sub, path.Join(name, sub.Name)))
	}
	return 200, c.s.filled("content-directory", out), nil
}

func putContent(c *call) (int, any, error) {
	var req struct{ Message, Content, Sha, Branch string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	data, err := base64.StdEncoding.DecodeString(req.Content)
	if err != nil {
		return 0, nil, &hub.Refused{Status: 422, Message: "content is not valid Base64"}
	}
	branch := req.Branch
	if branch == "" {
		branch = c.repo.DefaultBranch
	}
	parent := c.repo.Dir.Branch(branch)
	if parent == "" {
		return 0, nil, &hub.Refused{Status: 404, Message: "Branch " + branch + " not found"}
	}
	name := c.params["path"]
	list, err := c.repo.Dir.Tree(parent, name)
	if err != nil {
		return 0, nil, err
	}
	status := 201
	if len(list) == 1 {
		status = 200
		if req.Sha != list[0].SHA {
			return 0, nil, &hub.Refused{Status: 409, Message: name + " does not match " + req.Sha}
		}
	}
	sha, err := c.repo.Dir.Commit(bare.Change{Branch: branch, Parent: parent, Author: c.who.user.Login,
		Message: req.Message, Files: map[string]string{name: string(data)}}, c.s.Now().Unix())
	if err != nil {
		return 0, nil, err
	}
	c.s.BranchMoved(hub.Move{Repo: c.repo, Branch: branch, Before: parent, After: sha, By: c.who.user})
	list, err = c.repo.Dir.Tree(sha, name)
	if err != nil || len(list) != 1 {
		return 0, nil, hub.NotFound()
	}
	return status, object{
		"content": c.s.contentShape(c.repo, list[0], name),
		"commit":  object{"sha": sha, "message": req.Message},
	}, nil
}

func compare(c *call) (int, any, error) {
	base, head, ok := strings.Cut(c.params["basehead"], "...")
	b, h := c.repo.Dir.Resolve(base), c.repo.Dir.Resolve(head)
	if !ok || b == "" || h == "" {
		return 0, nil, hub.NotFound()
	}
	merge, err := c.repo.Dir.Line("merge-base", b, h)
	if err != nil {
		return 0, nil, &hub.Refused{Status: 404, Message: "No common ancestor between " + base + " and " + head + "."}
	}
	ahead, err := c.repo.Dir.Count(b + ".." + h)
	if err != nil {
		return 0, nil, err
	}
	behind, err := c.repo.Dir.Count(h + ".." + b)
	if err != nil {
		return 0, nil, err
	}
	commits, err := c.s.commitList(c.repo, b+".."+h)
	if err != nil {
		return 0, nil, err
	}
	files, err := c.s.fileShapes(c.repo, b, h)
	if err != nil {
		return 0, nil, err
	}
	state := "diverged"
	switch {
	case b == h:
		state = "identical"
	case behind == 0:
		state = "ahead"
	case ahead == 0:
		state = "behind"
	}
	baseCommit, err := c.s.commitShape(c.repo, b)
	if err != nil {
		return 0, nil, err
	}
	mergeCommit, err := c.s.commitShape(c.repo, merge)
	if err != nil {
		return 0, nil, err
	}
	return 200, object{"base_commit": baseCommit, "merge_base_commit": mergeCommit, "status": state,
		"ahead_by": ahead, "behind_by": behind, "total_commits": ahead, "commits": commits, "files": files}, nil
}

func (s *shaper) commitList(r *hub.Repo, rng string) ([]object, error) {
	out, err := r.Dir.Line("rev-list", "--reverse", "--max-count=250", rng)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, sha := range strings.Fields(out) {
		v, err := s.commitShape(r, sha)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (s *shaper) fileShapes(r *hub.Repo, base, head string) ([]object, error) {
	files, err := r.Dir.DiffFiles(base, head)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, f := range files {
		v := object{"filename": f.Name, "status": f.Status, "sha": f.SHA, "additions": f.Add, "deletions": f.Del,
			"changes": f.Add + f.Del, "contents_url": s.api(r, "/contents/"+f.Name)}
		if f.Patch != "" {
			v["patch"] = f.Patch
		}
		if f.Previous != "" {
			v["previous_filename"] = f.Previous
		}
		list = append(list, v)
	}
	return list, nil
}

func dispatch(c *call) (int, any, error) {
	var req struct {
		EventType string `json:"event_type"`
		Payload   object `json:"client_payload"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	c.s.Tell(
		hub.Event{Kind: "repository_dispatch", Action: req.EventType, By: c.who.user, Repo: c.repo, Payload: req.Payload},
	)
	return 204, nil, nil
}
