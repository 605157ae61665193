package ghtest

import (
	"encoding/base64"
	"net/http"
	"path"
	"strings"
)

func (s *Server) getRepo(c *call) (int, any, error) {
	v := s.repoShape(c.repo)
	role := c.repo.roleOn(c.who.user)
	if c.who.inst() == nil && c.who.user != nil {
		rank := roleRank[role]
		v["permissions"] = object{"admin": rank >= 5, "maintain": rank >= 4, "push": rank >= 3, "triage": rank >= 2, "pull": true}
	}
	return 200, v, nil
}

func (s *Server) getPermission(c *call) (int, any, error) {
	u := s.users[strings.ToLower(c.params["username"])]
	if u == nil {
		return 0, nil, &apiError{status: http.StatusNotFound, message: c.params["username"] + " is not a user"}
	}
	role := c.repo.roleOn(u)
	user := s.userShape(u).(object)
	user["role_name"] = role
	return 200, object{"permission": permissionOf(role), "role_name": role, "user": user}, nil
}

func (s *Server) getBranch(c *call) (int, any, error) {
	name := c.params["branch"]
	sha := c.repo.dir.branch(name)
	if sha == "" {
		return 0, nil, &apiError{status: http.StatusNotFound, message: "Branch not found"}
	}
	commit, err := s.commitShape(c.repo, sha)
	if err != nil {
		return 0, nil, err
	}
	_, protected := c.repo.protected[name]
	return 200, object{"name": name, "commit": commit, "protected": protected}, nil
}

// commitShape reads one commit out of git.
func (s *Server) commitShape(r *repo, sha string) (object, error) {
	out, err := r.dir.fixed("show", "-s", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B", sha)
	if err != nil {
		return nil, err
	}
	f := strings.SplitN(out, "\x00", 10)
	if len(f) < 10 {
		return nil, notFound()
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

func (s *Server) getCommit(c *call) (int, any, error) {
	sha := c.repo.dir.resolve(c.params["ref"])
	if sha == "" {
		return 0, nil, &apiError{status: 422, message: "No commit found for SHA: " + c.params["ref"]}
	}
	v, err := s.commitShape(c.repo, sha)
	return 200, v, err
}

type treeEntry struct{ mode, kind, sha, name string }

// tree lists one level of a tree; path names a file or a directory.
func (d gitDir) tree(sha, p string) ([]treeEntry, error) {
	args := []string{"ls-tree", "-z", sha}
	if p != "" {
		args = append(args, "--", p)
	}
	out, err := d.run(nil, args...)
	if err != nil {
		return nil, err
	}
	var list []treeEntry
	for _, l := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		meta, name, ok := strings.Cut(l, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			continue
		}
		list = append(list, treeEntry{f[0], f[1], f[2], name})
	}
	return list, nil
}

// rawType is the media type of a file as it is.
const rawType = "application/vnd.github.raw+json; charset=utf-8"

func (s *Server) getContent(c *call) (int, any, error) {
	ref := c.query("ref")
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	sha := c.repo.dir.resolve(ref)
	if sha == "" {
		return 0, nil, &apiError{status: http.StatusNotFound, message: "No commit found for the ref " + ref}
	}
	name := strings.Trim(c.params["path"], "/")
	list, err := c.repo.dir.tree(sha, name)
	if err != nil {
		return 0, nil, err
	}
	if len(list) != 1 {
		return 0, nil, notFound()
	}
	e := list[0]
	if e.kind == "tree" {
		return s.listDirectory(c, e, name)
	}
	data, err := c.repo.dir.run(nil, "cat-file", "blob", e.sha)
	if err != nil {
		return 0, nil, err
	}
	if strings.Contains(c.r.Header.Get("Accept"), "raw") {
		c.header.Set("Content-Type", rawType)
		return 200, []byte(data), nil
	}
	v := s.contentShape(c.repo, e, name)
	v["encoding"], v["content"], v["size"] = "base64", base64.StdEncoding.EncodeToString([]byte(data)), len(data)
	return 200, s.filled("content-file", v), nil
}

func (s *Server) contentShape(r *repo, e treeEntry, name string) object {
	kind := map[string]string{"tree": "dir", "blob": "file", "commit": "submodule"}[e.kind]
	return object{"type": kind, "name": path.Base(name), "path": name, "sha": e.sha, "size": 0,
		"url": s.api(r, "/contents/"+name), "html_url": s.page(r, "/blob/HEAD/"+name)}
}

func (s *Server) listDirectory(c *call, e treeEntry, name string) (int, any, error) {
	list, err := c.repo.dir.tree(e.sha, "")
	if err != nil {
		return 0, nil, err
	}
	out := []any{}
	for _, sub := range list {
		v := s.contentShape(c.repo, sub, path.Join(name, sub.name))
		out = append(out, s.filler().fill(s.spec.named("content-directory").Items.Value, v))
	}
	return 200, out, nil
}

func (s *Server) putContent(c *call) (int, any, error) {
	var req struct{ Message, Content, Sha, Branch string }
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	data, err := base64.StdEncoding.DecodeString(req.Content)
	if err != nil {
		return 0, nil, &apiError{status: 422, message: "content is not valid Base64"}
	}
	branch := req.Branch
	if branch == "" {
		branch = c.repo.defaultBranch
	}
	parent := c.repo.dir.branch(branch)
	if parent == "" {
		return 0, nil, &apiError{status: 404, message: "Branch " + branch + " not found"}
	}
	name := c.params["path"]
	list, err := c.repo.dir.tree(parent, name)
	if err != nil {
		return 0, nil, err
	}
	status := 201
	if len(list) == 1 {
		status = 200
		if req.Sha != list[0].sha {
			return 0, nil, &apiError{status: 409, message: name + " does not match " + req.Sha}
		}
	}
	sha, err := c.repo.dir.commit(change{branch: branch, parent: parent, author: c.who.user.login,
		message: req.Message, files: map[string]string{name: string(data)}}, s.now().Unix())
	if err != nil {
		return 0, nil, err
	}
	s.branchMoved(move{c.repo, branch, parent, sha, c.who.user})
	list, err = c.repo.dir.tree(sha, name)
	if err != nil || len(list) != 1 {
		return 0, nil, notFound()
	}
	return status, object{"content": s.contentShape(c.repo, list[0], name), "commit": object{"sha": sha, "message": req.Message}}, nil
}

func (s *Server) compare(c *call) (int, any, error) {
	base, head, ok := strings.Cut(c.params["basehead"], "...")
	b, h := c.repo.dir.resolve(base), c.repo.dir.resolve(head)
	if !ok || b == "" || h == "" {
		return 0, nil, notFound()
	}
	merge, err := c.repo.dir.line("merge-base", b, h)
	if err != nil {
		return 0, nil, &apiError{status: 404, message: "No common ancestor between " + base + " and " + head + "."}
	}
	ahead, err := c.repo.dir.count(b + ".." + h)
	if err != nil {
		return 0, nil, err
	}
	behind, err := c.repo.dir.count(h + ".." + b)
	if err != nil {
		return 0, nil, err
	}
	commits, err := s.commitList(c.repo, b+".."+h)
	if err != nil {
		return 0, nil, err
	}
	files, err := s.fileShapes(c.repo, b, h)
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
	baseCommit, err := s.commitShape(c.repo, b)
	if err != nil {
		return 0, nil, err
	}
	mergeCommit, err := s.commitShape(c.repo, merge)
	if err != nil {
		return 0, nil, err
	}
	return 200, object{"base_commit": baseCommit, "merge_base_commit": mergeCommit, "status": state,
		"ahead_by": ahead, "behind_by": behind, "total_commits": ahead, "commits": commits, "files": files}, nil
}

func (s *Server) commitList(r *repo, rng string) ([]object, error) {
	out, err := r.dir.line("rev-list", "--reverse", "--max-count=250", rng)
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

func (s *Server) fileShapes(r *repo, base, head string) ([]object, error) {
	files, err := r.dir.diffFiles(base, head)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, f := range files {
		v := object{"filename": f.name, "status": f.status, "sha": f.sha, "additions": f.add, "deletions": f.del,
			"changes": f.add + f.del, "contents_url": s.api(r, "/contents/"+f.name)}
		if f.patch != "" {
			v["patch"] = f.patch
		}
		if f.previous != "" {
			v["previous_filename"] = f.previous
		}
		list = append(list, v)
	}
	return list, nil
}

func (s *Server) dispatch(c *call) (int, any, error) {
	var req struct {
		EventType string `json:"event_type"`
		Payload   object `json:"client_payload"`
	}
	if err := c.decode(&req); err != nil {
		return 0, nil, err
	}
	s.emit(c.repo, event{"repository_dispatch", req.EventType, c.who.user},
		object{"branch": c.repo.defaultBranch, "client_payload": req.Payload})
	return 204, nil, nil
}
