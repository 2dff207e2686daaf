import { spawnSync } from 'node:child_process'

let available: boolean | undefined

/**
 * Returns a command line that makes the kernel send a signal to the child when its parent ends for any
 * reason. Needs Linux and util-linux's setpriv (busybox's lacks the option). Otherwise returns the command
 * unchanged; the next start then stops processes that are left over. setpriv replaces itself with the
 * command, so the pid is that of the command.
 */
export function withDeathSignal(command: string, args: string[], signal: NodeJS.Signals): [string, string[]] {
  if (available === undefined)
    available =
      process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0
  if (!available) return [command, args]
  return ['setpriv', ['--pdeathsig', signal.replace(/^SIG/, ''), '--', command, ...args]]
}
