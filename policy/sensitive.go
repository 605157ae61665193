package policy

// defaultSensitive are the built-in rules in order; "!" frees files that earlier rules
// match. Patterns are matched against folded paths, so they are in lower case.
var defaultSensitive = [...]string{
	// Environment files; their samples are harmless.
	"**/.env", "**/.env.*", "**/*.env", "**/.envrc", "**/.dev.vars",
	"!**/.env.example", "!**/.env.sample", "!**/.env.template", "!**/.env.dist",
	"!**/.env.*.example", "!**/.env.*.sample", "!**/example.env", "!**/sample.env",
	// Keys, certificates, credentials.
	"**/*.{pem,key,p12,pfx,p8,jks,keystore,kdbx,ppk,crt,cer,der,csr,gpg,asc,age,ovpn,mobileprovision}",
	"**/id_{rsa,dsa,ecdsa,ed25519}*", "**/.ssh/**", "**/.gnupg/**", "**/.aws/**", "**/.azure/**", "**/.kube/**",
	"**/.docker/config.json", "**/{authorized_keys,known_hosts,credentials,credentials.json,client_secret*.json,service-account*.json}",
	"**/.{npmrc,yarnrc,yarnrc.yml,pypirc,netrc,pgpass,my.cnf,htpasswd,git-credentials,dockercfg,boto,s3cfg}",
	"**/_netrc", "**/pip.conf", "**/.gem/credentials", "**/.cargo/{config,config.toml,credentials,credentials.toml}",
	"**/.m2/settings*.xml", "**/nuget.config", "**/auth.json", "**/secrets.{yml,yaml,json,toml}", "**/{secret,secrets}/**",
	"**/*.{tfvars,tfvars.json}", "**/master.key", "**/credentials.yml.enc",
	// Continuous integration.
	".github/workflows/**", ".github/actions/**", "**/action.{yml,yaml}", ".github/{dependabot,renovate,release,settings,mergify}*",
	"**/.gitlab-ci*.{yml,yaml}", ".gitlab/**", ".gitea/workflows/**", ".forgejo/workflows/**", ".woodpecker*", ".woodpecker/**",
	".circleci/**", "**/.travis.{yml,yaml}", "**/jenkinsfile*", "**/{*.,}azure-pipelines*.{yml,yaml}", ".azure-pipelines/**", ".azuredevops/**",
	".buildkite/**", "**/.drone.{yml,yaml,jsonnet,star}", "**/appveyor.yml", "**/.appveyor.yml", "**/bitbucket-pipelines.yml",
	"**/cloudbuild.{yml,yaml,json}", "**/buildspec*.{yml,yaml}", ".cirrus.{yml,star}", ".semaphore/**", "**/codefresh.{yml,yaml}",
	".teamcity/**", "**/wercker.yml", "**/.tekton/**", ".mergify.{yml,yaml}", "**/renovate.json*", "**/.renovaterc*",
	"**/.pre-commit-config.yaml", "**/.goreleaser.{yml,yaml}", "**/{codecov,.codecov}.{yml,yaml}", ".ci/**",
	// Lock files.
	"**/{package-lock.json,npm-shrinkwrap.json,yarn.lock,pnpm-lock.yaml,bun.lock,bun.lockb,deno.lock}",
	"**/{go.sum,go.work.sum,cargo.lock,gemfile.lock,composer.lock,poetry.lock,pipfile.lock,pdm.lock,uv.lock,pixi.lock,conda-lock.yml}",
	"**/{mix.lock,pubspec.lock,podfile.lock,package.resolved,cartfile.resolved,gradle.lockfile,packages.lock.json,flake.lock,stack.yaml.lock,.terraform.lock.hcl,buf.lock,chart.lock}",
	"**/gradle/wrapper/**", "**/gradle/verification-metadata.xml", "**/.mvn/wrapper/**",
	// Ownership, the bot's own configuration, agent instructions.
	"codeowners", ".github/codeowners", "docs/codeowners", ".gitlab/codeowners", "**/codeowners",
	".github/agent.{yml,yaml}", ".github/agent/**", "**/.agentignore",
	"**/{agents,agent,claude,gemini,claude.local}.md", ".github/copilot-instructions.md", ".github/instructions/**", ".github/prompts/**", ".github/chatmodes/**",
	"**/.cursorrules", "**/.cursor/**", "**/.windsurfrules", "**/.clinerules", "**/.clinerules/**", "**/.roo/**", "**/.roorules*",
	"**/.claude/**", "**/.codex/**", "**/.gemini/**", "**/.aider*", "**/.mcp.json", "**/mcp.json",
	// Git itself, and automatically executed programs.
	"**/.git", "**/.git/**", "**/.gitmodules", "**/.gitattributes", "**/.gitconfig", "**/.git-blame-ignore-revs",
	"**/.githooks/**", "**/githooks/**", "**/.husky/**", "**/hooks/{pre,post,commit,prepare,applypatch,update,push,fsmonitor,reference,sendemail,p4}*",
	"**/lefthook.{yml,yaml,toml,json}", "**/.lefthook/**", "**/.overcommit.yml",
	"**/.vscode/{tasks,launch,settings,extensions}.json", "**/.idea/runconfigurations/**", "**/.devcontainer/**", "**/.devcontainer.json", "**/.gitpod.yml",
	// Containers and deployment.
	"**/{dockerfile,containerfile}", "**/{dockerfile,containerfile}.*", "**/*.{dockerfile,containerfile}", "**/.dockerignore",
	"**/{docker-,}compose*.{yml,yaml}", "**/docker-bake.{hcl,json}", "**/*.{tf,tf.json,hcl,nomad,bicep}", "**/*.tfstate*",
	"**/{k8s,kubernetes,helm,charts,kustomize,manifests}/**", "**/kustomization.{yml,yaml}", "**/chart.yaml", "**/skaffold.yaml", "**/helmfile*.yaml",
	"**/{deploy,deployment,deployments,terraform,ansible,pulumi,cloudformation}/**", "**/pulumi*.{yml,yaml}", "**/serverless.{yml,yaml,ts,js,json}",
	"**/{procfile,fly.toml,vercel.json,netlify.toml,render.yaml,app.yaml,railway.json,wrangler.toml,firebase.json,.firebaserc,vagrantfile,cdk.json,samconfig.toml}",
}
