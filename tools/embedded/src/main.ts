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
// NODE_USE_ENV_PROXY would send what fetch asks our own services through a proxy, with their tokens.
setGlobalDispatcher(new Agent())
stopOnSignals()
stopWhenNpmGoes()

// In `npm start | tee log` a Ctrl-C ends tee first, and what is said then has no reader.
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
 * The first signal stops everything in order, another one at once. One Ctrl-C may come twice, from the terminal and
 * passed on by npm: what follows within a second is the same one.
 */
function stopOnSignals(): void {
  let first: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      first ??= performance.now()
      if (performance.now() - first > 1000) {
        killAll()
        process.exit(130)
      }
      stopping.abort()
    })
  }
}

/** npm runs us through a shell; when that one is killed, its signal never reaches us. */
function stopWhenNpmGoes(): void {
  if (!process.env['npm_lifecycle_event']) return
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stopping.abort()
  }, 500).unref()
}
