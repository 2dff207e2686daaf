import { spawnSync } from 'node:child_process'

let available: boolean | undefined

/**
 * The command line that makes the kernel signal a child when its parent dies, however it dies. Linux only, and where
 * util-linux's setpriv is installed (busybox's lacks the option); elsewhere the command is left as it is and the next
 * start stops what was left over. setpriv replaces itself with the command, so the pid is the command's.
 */
export function withDeathSignal(command: string, args: string[], signal: NodeJS.Signals): [string, string[]] {
  available ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0
  if (!available) return [command, args]
  return ['setpriv', ['--pdeathsig', signal.replace(/^SIG/, ''), '--', command, ...args]]
}
