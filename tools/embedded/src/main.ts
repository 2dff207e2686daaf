import { limitAddresses } from '@leadwire/service-kit/runtime'
import { Agent, setGlobalDispatcher } from 'undici'
import { writeTogether } from './process/write-together'
import { createLog } from './stack/log'
import { optionsOrExit } from './stack/options.cjs'
import { runStack } from './stack/run-stack'
import { stackOptions } from './stack/stack-options'

const stopping = new AbortController()
let killAll: () => void = () => {}

limitAddresses()
const options = stackOptions(optionsOrExit(process.argv.slice(2)), process.env)
// Disables the proxy of NODE_USE_ENV_PROXY. Otherwise the proxy would receive the requests to the stack's
// services, with their tokens.
setGlobalDispatcher(new Agent())
stopOnSignals()
stopWhenNpmGoes()

// Ignores errors of standard output: in `npm start | tee log`, Ctrl-C ends tee before this process.
process.stdout.on('error', () => {})
const { write, flush } = writeTogether((text) => void process.stdout.write(text))
process.on('exit', flush)
const log = createLog({
  write,
  colour: process.stdout.isTTY === true,
  everything: ['debug', 'trace'].includes(process.env['LOG_LEVEL'] ?? ''),
})
runStack({
  options,
  env: process.env,
  log,
  print: write,
  signal: stopping.signal,
  onKillSwitch: (kill) => {
    killAll = kill
  },
}).then(
  () => process.exit(0),
  (error: unknown) => {
    if (stopping.signal.aborted) process.exit(0)
    console.error(`\nLeadwire can't start: ${error instanceof Error ? error.message : error}`)
    process.exit(1)
  },
)

/**
 * Stops everything in order at the first signal, and at once at the second. Signals within one second count
 * as one, because a Ctrl-C may arrive from the terminal and from npm.
 */
function stopOnSignals(): void {
  let first: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (first === undefined) first = performance.now()
      if (performance.now() - first > 1000) {
        killAll()
        process.exit(130)
      }
      stopping.abort()
    })
  }
}

/**
 * Stops when the shell in which npm runs this process has ended. If the shell is killed, this process gets no
 * signal.
 */
function stopWhenNpmGoes(): void {
  if (!process.env['npm_lifecycle_event']) return
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stopping.abort()
  }, 500).unref()
}
