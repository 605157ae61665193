package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/moby/moby/api/types/registry"
)

// Logins is the directory of docker's own configuration, in which "docker login" stores
// credentials; "" disables them.
type Logins string

// dockerHub is the key of the default registry in docker's configuration.
const dockerHub = "https://index.docker.io/v1/"

// logins is the part of config.json about credentials.
type logins struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	Store   string            `json:"credsStore"`
	Helpers map[string]string `json:"credHelpers"`
}

// header returns the encoded credentials for a registry, or "" if there are none.
func (l Logins) header(ctx context.Context, host string) (string, error) {
	if l == "" {
		return "", nil
	}
	file := filepath.Join(string(l), "config.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read docker's logins: %w", err)
	}
	var known logins
	if err := json.Unmarshal(data, &known); err != nil {
		return "", fmt.Errorf("read docker's logins: %s: %w", file, err)
	}
	auth, err := known.credentials(ctx, host)
	if err != nil || auth == nil {
		return "", err
	}
	text, err := json.Marshal(auth)
	return base64.URLEncoding.EncodeToString(text), err
}

// credentials returns the credentials for a registry, or nil if there are none.
func (l logins) credentials(ctx context.Context, host string) (*registry.AuthConfig, error) {
	for _, name := range registryNames(host) {
		helper := l.Helpers[name]
		if helper == "" {
			helper = l.Store
		}
		if helper != "" {
			if auth, err := askHelper(ctx, helper, name); err != nil || auth != nil {
				return auth, err
			}
		}
		at, ok := l.Auths[name]
		if !ok || at.Auth == "" && at.IdentityToken == "" {
			continue
		}
		plain, err := base64.StdEncoding.DecodeString(at.Auth)
		if err != nil {
			return nil, fmt.Errorf("read docker's logins: that for %s is not in base64", name)
		}
		user, password, _ := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
		return &registry.AuthConfig{
			Username:      user,
			Password:      password,
			IdentityToken: at.IdentityToken,
			ServerAddress: name,
		}, nil
	}
	return nil, nil
}

// registryNames returns the possible names of a registry in docker's configuration.
func registryNames(host string) []string {
	if host == "docker.io" {
		return []string{dockerHub, "index.docker.io", "docker.io"}
	}
	return []string{host, "https://" + host, "https://" + host + "/v1/", "https://" + host + "/v2/"}
}

// askHelper asks a credential helper of docker. It returns nil if that has no entry.
func askHelper(ctx context.Context, helper, name string) (*registry.AuthConfig, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(helper) {
		return nil, fmt.Errorf("ask for docker's logins: %q is no name of a program", helper)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(name), &out, &errs
	if err := cmd.Run(); err != nil {
		if strings.Contains(out.String()+errs.String(), "credentials not found") {
			return nil, nil
		}
		return nil, fmt.Errorf(
			"ask docker-credential-%s for the login of %s: %w",
			helper,
			name,
			err,
		) // without its output, which may hold a secret
	}
	var got struct{ Username, Secret string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return nil, fmt.Errorf("ask docker-credential-%s for the login of %s: its answer is not in JSON", helper, name)
	}
	if got.Username == "<token>" {
		return &registry.AuthConfig{IdentityToken: got.Secret, ServerAddress: name}, nil
	}
	return &registry.AuthConfig{Username: got.Username, Password: got.Secret, ServerAddress: name}, nil
}
