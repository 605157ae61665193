package code

import (
	"strings"
	"sync"
)

type shape int

// The shapes of calls: which of their arguments count.
const (
	shapeFirst shape = iota // the first
	shapeArgs               // all of them
	shapeFile               // a program and its words
	shapeZero               // a program, the name it is given, its words
	shapeMode               // a mode, and then as shapeZero
	shapeRecv               // what the method is called on
	shapeLast               // the last
	shapeMove               // what is moved, and where to
	shapeOpen               // a file and a mode
	shapeNone               // none are needed
	shapeValue              // it is no function
)

// entry is what is known of a name.
type entry struct {
	kind   Kind
	shape  shape
	fold   string // how its value is computed
	passed bool   // counts when it is passed on and not called
	piped  bool   // the program writes what the command reads
}

func (e entry) executes() bool { return e.kind >= Exec && e.kind <= Load && e.fold == "" }

// verbs are the words that open a line of a table.
var verbs = map[string]entry{
	"shell":      {kind: Shell, shape: shapeFirst, passed: true},
	"pipe":       {kind: Shell, shape: shapeFirst, passed: true, piped: true},
	"words":      {kind: Shell, shape: shapeArgs, passed: true},
	"pipewords":  {kind: Shell, shape: shapeArgs, passed: true, piped: true},
	"file":       {kind: Exec, shape: shapeFile, passed: true, piped: true},
	"zero":       {kind: Exec, shape: shapeZero, passed: true},
	"mode":       {kind: Exec, shape: shapeMode, passed: true},
	"receiver":   {kind: Shell, shape: shapeRecv, passed: true},
	"eval":       {kind: Eval, shape: shapeFirst, passed: true},
	"load":       {kind: Load, shape: shapeFirst, passed: true},
	"delete":     {kind: Delete, shape: shapeArgs, passed: true},
	"tree":       {kind: DeleteTree, shape: shapeArgs, passed: true},
	"own-delete": {kind: Delete, shape: shapeRecv},
	"own-tree":   {kind: DeleteTree, shape: shapeRecv},
	"move":       {kind: Write, shape: shapeMove},
	"write":      {kind: Write, shape: shapeFirst},
	"own-write":  {kind: Write, shape: shapeRecv},
	"last-write": {kind: Write, shape: shapeLast},
	"open":       {kind: Write, shape: shapeOpen},
	"fetch":      {kind: Fetch, shape: shapeFirst},
	"send":       {kind: Send, shape: shapeFirst},
	"send-any":   {kind: Send, shape: shapeNone},
	"connect":    {kind: Connect, shape: shapeNone},
	"env":        {kind: Env, shape: shapeValue},
	"getenv":     {kind: Env, shape: shapeFirst},
	"fork":       {kind: Fork, shape: shapeNone},
	"signal":     {kind: Signal, shape: shapeArgs},
	"chdir":      {kind: Chdir, shape: shapeFirst},
	"grow":       {kind: Grow, shape: shapeNone},
}

// tables holds the tables of all languages, ready to look into. A name that
// starts with a dot is a method of any receiver; the key *name finds the last
// part of a name that was put together from a text.
var tables = sync.OnceValue(func() map[Language]map[string]entry {
	all := map[Language]map[string]entry{}
	for lang, text := range calls {
		t := map[string]entry{}
		for line := range strings.Lines(text) {
			names := strings.Fields(line)
			if len(names) == 0 {
				continue
			}
			e, ok := verbs[names[0]]
			if !ok {
				e.fold = strings.TrimPrefix(names[0], "=")
			}
			for _, n := range names[1:] {
				t[n] = e
				last := "*" + n[strings.LastIndexAny(n, "./")+1:]
				if _, taken := t[last]; !taken && e.executes() {
					t[last] = e
				}
			}
		}
		all[lang] = t
	}
	return all
})

// calls are the calls that matter, by language. A line starts with what they
// do; with an equals sign it says how their value is computed.
var calls = map[Language]string{
	python: `
shell os.system posix.system nt.system .system os.startfile subprocess.getoutput subprocess.getstatusoutput .getoutput .getstatusoutput commands.getoutput commands.getstatusoutput asyncio.create_subprocess_shell .create_subprocess_shell pexpect.spawn pexpect.run pty.spawn
shell subprocess.run subprocess.call subprocess.check_call subprocess.check_output .check_call .check_output invoke.run
pipe subprocess.Popen .Popen os.popen os.popen2 os.popen3 os.popen4 popen2.popen2 popen2.popen3 .popen
words asyncio.create_subprocess_exec .create_subprocess_exec _posixsubprocess.fork_exec
zero os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe posix.execv posix.execve os.posix_spawn os.posix_spawnp .execv .execve .execvp .execl .execlp .posix_spawn
mode os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe
eval eval exec compile timeit.timeit timeit.repeat code.InteractiveInterpreter .runsource .runcode
load execfile runpy.run_path runpy.run_module imp.load_source imp.load_dynamic ctypes.CDLL ctypes.PyDLL ctypes.cdll.LoadLibrary .LoadLibrary
delete os.remove os.unlink os.rmdir os.removedirs
tree shutil.rmtree .rmtree distutils.dir_util.remove_tree
own-delete .unlink .rmdir
move os.rename os.renames os.replace shutil.move
write os.truncate os.chmod os.chown os.lchown os.mkfifo os.mknod
own-write .write_text .write_bytes .touch .chmod .symlink_to .hardlink_to
last-write shutil.copy shutil.copy2 shutil.copyfile shutil.copytree os.symlink os.link
open open io.open codecs.open os.open gzip.open bz2.open .open
fetch urllib.request.urlopen urllib.urlopen urllib2.urlopen .urlopen urllib.request.urlretrieve urllib.urlretrieve .urlretrieve urllib.request.Request urllib2.Request requests.get requests.head requests.request httpx.get httpx.stream httpx.request wget.download
fetch http.client.HTTPConnection http.client.HTTPSConnection httplib.HTTPConnection httplib.HTTPSConnection
connect requests.Session aiohttp.ClientSession httpx.Client httpx.AsyncClient urllib3.PoolManager
send requests.post requests.put requests.patch requests.delete httpx.post httpx.put httpx.patch smtplib.SMTP smtplib.SMTP_SSL ftplib.FTP ftplib.FTP_TLS
send-any .sendall .sendto .sendmail .send_message paramiko.SSHClient paramiko.Transport
connect socket.socket socket.create_connection socket.create_server .create_connection telnetlib.Telnet asyncio.open_connection asyncio.start_server socketserver.TCPServer http.server.HTTPServer .serve_forever
env os.environ os.environb posix.environ
getenv os.getenv os.getenvb os.environ.get os.environ.pop os.environ.setdefault
fork os.fork os.forkpty pty.fork .fork
signal os.kill os.killpg os.setuid os.setgid os.chroot os._exit
chdir os.chdir os.fchdir
grow .append .extend bytearray
=opaque marshal.loads marshal.load pickle.loads cPickle.loads dill.loads yaml.unsafe_load types.CodeType
=computed operator.attrgetter operator.methodcaller types.FunctionType
=module __import__ importlib.import_module importlib.__import__ .import_module
=attr getattr
=global globals locals vars
=same str pathlib.Path pathlib.PurePath pathlib.PosixPath Path .decode .encode .strip .expanduser os.path.expanduser os.path.expandvars os.path.abspath os.path.realpath os.fspath .resolve .absolute list tuple codecs.decode codecs.encode
=path os.path.join .joinpath
=base64 base64.b64decode base64.decodebytes base64.decodestring base64.urlsafe_b64decode base64.standard_b64decode binascii.a2b_base64 .b64decode
=hex bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex .fromhex .unhexlify
=chr chr unichr bytes
=reverse reversed
=split .split shlex.split
=join .join
=pattern re.compile`,
	js: `
shell child_process.exec child_process.execSync .exec .execSync exec execSync shelljs.exec execaCommand execaCommandSync .doShellScript
shell $` + "` Bun.$` .$` sh` execa` exec`" + `
file child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync .spawn .spawnSync .execFile .execFileSync spawn spawnSync execFile execFileSync execa execaSync Deno.Command Deno.run Bun.spawn Bun.spawnSync
words os.exec std.popen
eval eval Function .constructor vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction .runInThisContext .runInNewContext .runInContext execScript setTimeout setInterval setImmediate std.evalScript
load std.loadScript importScripts
delete .unlink .unlinkSync .rmdir .rmdirSync unlinkSync rmdirSync unlink rmdir Deno.remove Deno.removeSync
tree .rm .rmSync rm rmSync rimraf rimraf.sync .removeSync fs-extra.remove .emptyDirSync .emptyDir removeSync emptyDirSync
move .rename .renameSync renameSync Deno.rename Deno.renameSync
write .writeFile .writeFileSync .appendFile .appendFileSync .createWriteStream .truncate .truncateSync .chmod .chmodSync .chown .chownSync writeFileSync appendFileSync createWriteStream writeFile Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Deno.writeFileSync Bun.write Deno.chmod
last-write .copyFile .copyFileSync .cpSync .symlink .symlinkSync .link .linkSync fs.cp
open .open .openSync
fetch fetch http.get https.get http.request https.request axios axios.get axios.request got node-fetch undici.request needle.get
send axios.post axios.put axios.patch got.post needle.post navigator.sendBeacon
connect net.connect net.createConnection net.Socket net.createServer tls.connect dgram.createSocket http.createServer https.createServer http2.connect Deno.connect Deno.listen Deno.serve Bun.connect Bun.listen Bun.serve dns.resolve dns.lookup WebSocket http.Server
env process.env Bun.env
getenv Deno.env.get Deno.env.toObject std.getenv std.getenviron
fork child_process.fork .fork cluster.fork
signal process.kill process.setuid process.setgid process.abort Deno.kill
chdir process.chdir Deno.chdir
grow .push Buffer.alloc Buffer.allocUnsafe .repeat .fill
=computed process.binding process._linkedBinding process.dlopen
=module require import process.mainModule.require module.require createRequire .require
=attr Reflect.get
=same String Buffer.from util.promisify promisify .toString .trim .valueOf path.resolve path.normalize .promisify .bind .default
=path path.join
=base64 atob
=chr String.fromCharCode String.fromCodePoint
=reverse .reverse
=split .split
=join .join .concat
=pattern RegExp`,
	perl: `
words system exec shell run QX IPC.System.Simple.system IPC.System.Simple.capture
words IPC.Run.run IPC.Run3.run3 open2 open3 capture
shell readpipe qqx
eval eval EVAL evalbytes
load do
delete unlink rmdir
tree rmtree remove_tree File.Path.rmtree File.Path.remove_tree File.Path.make_path.
own-tree .remove_tree
own-delete .remove
move rename move mv
write truncate mkfifo spurt
last-write symlink link copy cp dircopy rcopy
open open sysopen
fetch get getprint getstore LWP.Simple.get mirror head LWP.UserAgent.new LWP.UserAgent HTTP.Tiny.new HTTP.Tiny
send-any .post .put
connect socket connect IO.Socket.INET.new IO.Socket.new IO.Socket.SSL.new IO.Socket.UNIX.new IO.Socket.INET bind listen
env $ENV %ENV @ENV %*ENV
getenv getenv
fork fork
signal kill POSIX.kill POSIX.setuid
chdir chdir chroot
grow push
=module require
=base64 decode_base64 MIME.Base64.decode_base64 decode_base64url
=reverse reverse scalar
=join join
=chr chr
=same glob quotemeta
=hexpack pack`,
	ruby: `
words system exec spawn .system Process.spawn Process.exec .exec Kernel.open3 PTY.spawn PTY.getpty syscall Process.run
pipe IO.popen
pipewords Open3.popen3 Open3.popen2 Open3.popen2e Open3.capture2 Open3.capture2e Open3.capture3 Open3.pipeline Open3.pipeline_r .popen
words ` + "`" + `
eval eval instance_eval class_eval module_eval .eval .instance_eval .class_eval .module_eval .instance_exec. binding.eval RubyVM.InstructionSequence.compile
load load
delete File.delete File.unlink Dir.rmdir Dir.delete Dir.unlink FileUtils.rm FileUtils.rm_f FileUtils.rmdir FileUtils.remove FileUtils.remove_file FileUtils.safe_unlink
tree FileUtils.rm_r FileUtils.rm_rf FileUtils.rmtree FileUtils.remove_dir FileUtils.remove_entry FileUtils.remove_entry_secure .rm_rf .rm_r rm_rf rm_r .rmtree
own-delete .unlink .delete_file
move File.rename FileUtils.mv FileUtils.move
write File.write IO.write IO.binwrite File.binwrite File.truncate
last-write FileUtils.cp FileUtils.cp_r FileUtils.copy FileUtils.install FileUtils.ln_s FileUtils.ln_sf FileUtils.ln File.symlink File.link File.chmod FileUtils.chmod FileUtils.chmod_R FileUtils.chown
open open File.open IO.open File.new Kernel.open
fetch URI.open URI.parse.read Net.HTTP.get Net.HTTP.get_response Net.HTTP.start Net.HTTP.new HTTParty.get Faraday.get RestClient.get OpenURI.open_uri HTTP.get
send Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post RestClient.post HTTP.post Net.FTP.open Net.SMTP.start
connect TCPSocket.new TCPSocket.open TCPServer.new TCPServer.open UDPSocket.new Socket.tcp Socket.new UNIXSocket.new Socket.tcp_server_loop
env ENV
getenv ENV.fetch ENV.delete ENV.dig
fork fork Process.fork Process.daemon
signal Process.kill Process.setuid
chdir Dir.chdir Dir.chroot
grow .push .concat
=send send __send__ public_send .send .__send__ .public_send method .method .public_method .const_get
=base64 Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64
=split .split Shellwords.split .shellsplit
=join .join
=reverse .reverse
=same .to_s .strip .chomp .to_str URI Pathname.new Pathname String.new File.expand_path .freeze .dup
=path File.join
=chr chr .chr
=pattern Regexp.new`,
	php: `
shell system exec shell_exec passthru popen pcntl_exec expect_popen
file proc_open
eval eval assert create_function
load include include_once require require_once
delete unlink rmdir file.delete
tree delete_recursive deletedirectory
move rename
write file_put_contents touch chmod chown chgrp ftruncate mkfifo
last-write copy symlink link move_uploaded_file
open fopen
fetch curl_init file_get_contents. get_headers
send mail ftp_connect curl_setopt. http_post_data
connect fsockopen pfsockopen stream_socket_client stream_socket_server socket_create socket_connect stream_socket_pair.
env $_env $_server
getenv getenv
fork pcntl_fork
signal posix_kill posix_setuid
chdir chdir chroot
grow array_push str_repeat
=send call_user_func call_user_func_array forward_static_call
=callback array_map array_filter array_walk usort uasort uksort array_reduce register_shutdown_function ob_start preg_replace_callback spl_autoload_register set_error_handler iterator_apply array_walk_recursive
=computed reflectionfunction closure.fromcallable reflectionmethod
=base64 base64_decode
=hex hex2bin
=rot13 str_rot13
=reverse strrev
=chr chr
=same strval trim escapeshellcmd. realpath
=split explode. str_split.
=join implode join`,
	lua: `
shell os.execute .execute
pipe io.popen .popen
eval load loadstring
load dofile loadfile package.loadlib
delete os.remove .remove_file
tree lfs.rmdir
move os.rename
open io.open
connect socket.tcp socket.connect socket.udp socket.bind .tcp
fetch socket.http.request http.request
getenv os.getenv
grow table.insert
=module require
=chr string.char
=reverse string.reverse .reverse
=join table.concat
=same tostring`,
	awk: `
shell system
getenv getenv
env ENVIRON`,
	rlang: `
words system2 processx::run
shell system shell pipe base.system
eval eval parse. source.
load source sys.source
delete file.remove
tree unlink fs.dir_delete fs.file_delete
move file.rename
write file.create writeLines. sink Sys.chmod
last-write file.copy file.symlink
fetch download.file url readLines. httr.GET curl.curl
send httr.POST
connect socketConnection
getenv Sys.getenv
fork parallel.mcparallel
signal tools.pskill
chdir setwd
=send do.call match.fun
=attr get getFromNamespace
=path file.path
=concat paste0
=list c list
=rot13 chartr.
=split strsplit.
=same path.expand normalizePath unlist rev.`,
	julia: `
words run pipeline read Cmd
eval eval include_string Meta.parse
load include
tree rm
move mv
last-write cp symlink
open open
write write touch chmod truncate
fetch download Downloads.download HTTP.get
send HTTP.post
connect connect Sockets.connect listen
env ENV
getenv get
signal kill
chdir cd
=base64 base64decode Base64.base64decode
=reverse reverse
=join join string
=chr Char
=path joinpath
=same String expanduser`,
	lisp: `
words system system* system/exit-code shell-command shell-command-to-string run-program uiop.run-program uiop:run-program sb-ext:run-program ext:run-program ext:run-shell-command ext:shell asdf:run-shell-command trivial-shell:shell-command shell async-shell-command sh clojure.java.shell/sh shell/sh os/shell os/execute os.execute os.system subprocess.run subprocess.call subprocess.Popen process process* subprocess open-pipe open-pipe* open-input-pipe babashka.process/shell babashka.process/sh p/shell execlp execl primitive-fork. run-shell-command si:system ext:system process-lines eshell-command
words .exec io.popen
file call-process start-process start-process-shell-command make-process call-process-shell-command process-file
eval eval load-string eval-string primitive-eval read-from-string.
load load load-file slurp.
delete delete-file io/delete-file clojure.java.io/delete-file os/rm os/rmdir file.delete os.remove
tree delete-directory delete-directory/files delete-directory-recursively uiop:delete-directory-tree delete-tree fs/delete-tree babashka.fs/delete-tree shutil.rmtree
move rename-file rename-file-or-directory
write write-region spit with-output-to-file open-output-file call-with-output-file
fetch url-retrieve url-retrieve-synchronously http-get clj-http.client/get
send clj-http.client/post
connect open-network-stream make-network-process tcp-connect socket connect net/connect
getenv getenv System/getenv os/getenv uiop:getenv
fork fork primitive-fork
signal signal-process kill
chdir cd chdir
=attr resolve ns-resolve
=computed intern. find-symbol
=concat concat string-append str string-concat
=list list vector
=same expand-file-name`,
	jvm: `
shell .exec Runtime.getRuntime.exec
words ProcessBuilder new.ProcessBuilder Process. .command
receiver .execute .! .!! .lazyLines .lineStream .#!
words sys.process.Process Process
eval .eval .evaluate Eval.me GroovyShell. .parseClass
load .loadLibrary System.load
delete Files.delete Files.deleteIfExists java.nio.file.Files.delete
own-delete .delete .deleteOnExit
own-tree .deleteDir .deleteRecursively .deleteDirectory
tree FileUtils.deleteDirectory FileUtils.deleteQuietly FileUtils.forceDelete
move Files.move
last-write Files.copy Files.createSymbolicLink
write Files.write Files.writeString FileWriter FileOutputStream PrintWriter RandomAccessFile
own-write .setText .writeText .appendText .write. .createNewFile .mkdirs.
fetch URL. .openStream .openConnection HttpRequest.newBuilder Source.fromURL scala.io.Source.fromURL
connect Socket ServerSocket java.net.Socket DatagramSocket SocketChannel.open
getenv System.getenv sys.env.get System.getenv.get
env sys.env
signal .destroyForcibly.
=computed Class.forName .getMethod .getDeclaredMethod
=base64 .decode
=same File java.io.File new.File Paths.get Path.of URL URI .toFile .toPath .toString String
=split .split .tokenize
=join .join`,
	beam: `
words os.cmd System.cmd System.shell Port.open open_port exec.run .cmd .shell
eval Code.eval_string Code.eval_quoted Code.compile_string erl_eval.exprs
load Code.eval_file Code.require_file Code.compile_file file.eval file.script
delete File.rm File.rm! File.rmdir File.rmdir! file.delete file.del_dir
tree File.rm_rf File.rm_rf! file.del_dir_r
move File.rename File.rename! file.rename
write File.write File.write! file.write_file File.touch File.chmod File.ln_s
last-write File.cp File.cp! File.cp_r File.cp_r!
fetch httpc.request HTTPoison.get HTTPoison.get! Req.get Req.get!
send HTTPoison.post HTTPoison.post! Req.post Req.post!
connect gen_tcp.connect gen_tcp.listen gen_udp.open ssl.connect
getenv System.get_env System.fetch_env System.fetch_env! os.getenv
fork spawn.
signal System.halt. System.stop init.stop
chdir File.cd File.cd! file.set_cwd
=send apply Kernel.apply erlang.apply
=base64 Base.decode64! base64.decode
=hex Base.decode16!
=reverse String.reverse lists.reverse
=join Enum.join
=split String.split
=same to_charlist String.to_charlist to_string Path.expand String.to_atom`,
	golang: `
file exec.Command
words exec.CommandContext
zero syscall.Exec os.StartProcess syscall.ForkExec unix.Exec
delete os.Remove syscall.Unlink syscall.Rmdir unix.Unlink
tree os.RemoveAll
move os.Rename
write os.WriteFile ioutil.WriteFile os.Create os.Truncate os.Chmod os.Chown
last-write os.Symlink os.Link
open os.OpenFile
fetch http.Get http.Head http.NewRequest
send http.Post http.PostForm smtp.SendMail
connect net.Dial net.DialTimeout net.Listen tls.Dial http.ListenAndServe
getenv os.Getenv os.LookupEnv
env os.Environ
load plugin.Open
signal syscall.Kill syscall.Setuid syscall.Reboot unix.Kill
chdir os.Chdir syscall.Chroot
grow append
=path filepath.Join path.Join
=join strings.Join
=split strings.Fields strings.Split
=same string filepath.Clean filepath.Abs os.ExpandEnv`,
	octave: `
shell system shell_cmd unix dos popen
words exec
eval eval evalin evalc
load source run
delete delete unlink
tree rmdir confirm_recursive_rmdir.
move rename movefile
last-write copyfile
open fopen
fetch urlread urlwrite webread websave
getenv getenv
signal kill
fork fork
chdir cd chdir
=send feval cellfun. str2func.
=reverse fliplr
=chr char`,
	powershell: `
file diagnostics.process.start .process.start start
eval invoke-expression iex scriptblock.create .scriptblock.create .invokescript
delete io.file.delete .file.delete
tree io.directory.delete .directory.delete
own-delete .delete
write io.file.writealltext .file.writealltext
fetch .downloadstring .downloadfile .downloaddata
send .uploadstring .uploadfile
connect net.sockets.tcpclient .tcpclient
getenv environment.getenvironmentvariable
=base64 convert.frombase64string .frombase64string
=same .getstring .tostring`,
	other: `
words system popen shell execShellCmd startProcess osproc.execCmd osproc.execProcess execCmd execCmdEx execProcess Process.run sh! shell_exec Sys.command Unix.system std.process.executeShell executeShell spawnShell std.process.execute spawnProcess callCommand spawnCommand readCreateProcess System.Process.system rawSystem readProcess callProcess exec
words execl. std.process.Command Command.new process.Command.new Process.Start Process.start .launchPath std.process.Child.run std.process.Child.init ChildProcess.run ChildProcess.exec shellcmd do_shell
zero execl execlp execle execv execvp execve execvpe posix_spawn posix_spawnp Unix.execv Unix.execvp
shell do.script process_create unix.exec
shell do.shell
delete unlink remove rmdir removeFile fs.remove_file std.fs.remove_file std.file.remove Unix.unlink Sys.remove removeDir fs.remove_dir std.fs.remove_dir File.Delete deleteFile delete_file delete_directory
tree remove_dir_all fs.remove_dir_all std.fs.remove_dir_all removeDirectoryRecursive removePathForcibly rmdirRecurse std.file.rmdirRecurse filesystem.remove_all std.filesystem.remove_all remove_all Directory.Delete std.fs.cwd.deleteTree .deleteTree .removeItem .removeDirectoryRecursive delete_directory_and_contents
move rename fs.rename std.fs.rename Sys.rename
write fs.write std.fs.write File.create fs.File.create truncate chmod chown writeFile File.WriteAllText
last-write fs.copy std.fs.copy symlink link
open fopen open
connect socket connect TcpStream.connect TcpListener.bind std.net.TcpStream.connect newSocket
fetch reqwest.get reqwest.blocking.get curl_easy_init simpleHTTP httpGet Data
getenv getenv env.var std.env.var Sys.getenv Unix.getenv getEnv lookupEnv
fork fork vfork Unix.fork forkProcess
signal kill setuid reboot Unix.kill
chdir chdir env.set_current_dir Sys.chdir
load dlopen
grow malloc calloc realloc`,
}
