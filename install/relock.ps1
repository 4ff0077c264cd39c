# Runs relock as a step of a workflow, on Windows: gets the program that this
# commit of the action belongs to, and runs it. relock.sh says the same for Linux
# and macOS, with the reasons. It is for Windows PowerShell 5.1, which every
# Windows has.
$ErrorActionPreference = 'Stop'
# Windows PowerShell draws its bar for every few bytes of a download.
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

function Fail([string]$message) {
  Write-Host "::error title=relock::$message"
  exit 1
}

function Has([string]$name) {
  return [bool](Get-Command -Name $name -CommandType Application -ErrorAction SilentlyContinue)
}

$baseEvents = 'schedule workflow_dispatch repository_dispatch push issue_comment' -split ' '

# Resolve-Links says where a file or folder is when all links are followed.
function Resolve-Links([string]$path) {
  $full = [IO.Path]::GetFullPath($path)
  foreach ($try in 1..40) {
    $target, $rest, $at = $null, '', $full
    while ($at -and -not $target) {
      $item = Get-Item -LiteralPath $at -Force -ErrorAction SilentlyContinue
      if ($item -and $item.LinkType -in 'SymbolicLink', 'Junction') {
        $target = [IO.Path]::Combine((Split-Path -Parent $at), @($item.Target)[0])
      } else {
        $rest = Join-Path (Split-Path -Leaf $at) $rest
        $at = Split-Path -Parent $at
      }
    }
    if (-not $target) { return $full }
    $full = [IO.Path]::GetFullPath((Join-Path $target $rest)).TrimEnd('\')
  }
  Fail 'the links of the program that the input binary names cannot be followed'
}

if ($env:RELOCK_BINARY) {
  if (Test-Path -LiteralPath $env:RELOCK_BINARY -PathType Container) { Fail 'the input binary names a directory; name the program in it' }
  $command = Get-Command -Name $env:RELOCK_BINARY -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
  if (-not $command) { Fail 'the input binary names no program that can be run here' }
  $program = Resolve-Links $command.Path
  if ($baseEvents -notcontains $env:GITHUB_EVENT_NAME) {
    $workspace = (Resolve-Links $(if ($env:GITHUB_WORKSPACE) { $env:GITHUB_WORKSPACE } else { (Get-Location).Path })).TrimEnd('\') + '\'
    if ($program.StartsWith($workspace, [StringComparison]::OrdinalIgnoreCase)) {
      Fail 'the input binary names a program in the workspace, where a pull request could put another: keep it elsewhere, as in a folder of the runner'
    }
  }
  & $program action
  exit $LASTEXITCODE
}

$arch = switch ($env:RUNNER_ARCH) { 'X64' { 'amd64' } 'ARM64' { 'arm64' } default { 'other' } }
$dir = Join-Path $env:RUNNER_TEMP ('relock.' + [Guid]::NewGuid())
New-Item -ItemType Directory -Path $dir | Out-Null

$sum = $null
foreach ($line in Get-Content -LiteralPath (Join-Path $env:GITHUB_ACTION_PATH 'install\checksums.txt')) {
  if ($line -match "^([0-9a-f]{64})  (relock_(.+)_windows_$arch\.zip)$") {
    $sum, $archive, $version = $Matches[1], $Matches[2], $Matches[3]
  }
}

$program = Join-Path $dir 'relock.exe'
if ($sum) {
  $from = if ($env:RELOCK_DOWNLOAD_URL) { $env:RELOCK_DOWNLOAD_URL } else { 'https://github.com/relock-dev/relock/releases/download' }
  if ($from -notmatch '^https?://') { Fail 'the input download-url is no address that begins with https:// or http://' }
  $address = $from.TrimEnd('/') + "/v$version/$archive"
  $file = Join-Path $dir $archive
  foreach ($try in 1..2) {
    try {
      Invoke-WebRequest -UseBasicParsing -Uri $address -OutFile $file -TimeoutSec 300
      break
    } catch {
      if ($try -eq 2) { Fail "$archive cannot be downloaded: is there a way to github.com from here, and is this a release? The inputs download-url and binary are for runners without" }
    }
  }
  $found = (Get-FileHash -Algorithm SHA256 -LiteralPath $file).Hash.ToLowerInvariant()
  if ($found -ne $sum) { Fail "$archive is not the file of this release: its checksum is $found, and this commit of the action names $sum. Nothing of it was run" }
  Expand-Archive -LiteralPath $file -DestinationPath $dir
} else {
  if (-not (Has 'go')) { Fail 'this commit of the action has no release for this machine, and there is no Go to build it with. Use a release, like relock-dev/relock@v1; or run actions/setup-go before; or name a program with the input binary' }
  $env:CGO_ENABLED, $env:GOFLAGS, $env:GOWORK = '0', '', 'off'
  Push-Location -LiteralPath $env:GITHUB_ACTION_PATH
  & go build -trimpath -buildvcs=false -ldflags '-s -w' -o $program .
  Pop-Location
  if ($LASTEXITCODE -ne 0) { Fail 'building relock with the Go of this runner went wrong; the lines above say why' }
}

& $program action
exit $LASTEXITCODE
