import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  connect,
  getDefaultAutoSelectFamilyAttemptTimeout,
  setDefaultAutoSelectFamilyAttemptTimeout,
} from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { freePort, startFullServer } from '@leadwire/test-kit'
import { startHealthServer } from './health'
import { createLifecycle, runService } from './lifecycle'
import { createLogger } from './logger'
import { createMetrics } from './metrics'

const logger = createLogger({ service: 'spec', level: 'silent' })

test('what was started last is stopped first, once, and a failing step stops no other', async () => {
  const lifecycle = createLifecycle(logger)
  const stopped: string[] = []
  lifecycle.onStop('first', () => stopped.push('first'))
  lifecycle.onStop('second', () => {
    stopped.push('second')
    throw new Error('stuck')
  })
  lifecycle.onStop('third', () => stopped.push('third'))
  await Promise.all([lifecycle.stop(), lifecycle.stop()])
  expect(stopped).toEqual(['third', 'second', 'first'])
  expect(lifecycle.signal.aborted).toBe(true)
})

test('readiness names what is missing, and says no during a drain', async () => {
  const port = await freePort()
  const lifecycle = createLifecycle(logger)
  let postgres: Promise<unknown> = Promise.resolve()
  const checks = [
    { name: 'postgres', check: () => postgres },
    { name: 'nats', check: async () => undefined },
  ]
  let release = () => {}
  await startHealthServer({ host: '127.0.0.1', port, checks, metrics: createMetrics('spec'), lifecycle })
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, body: await response.text() }
  }
  expect((await get('/healthz')).status).toBe(200)
  expect(await get('/readyz')).toEqual({ status: 200, body: '{"status":"ready"}' })
  expect((await get('/metrics')).body).toContain('process_cpu_seconds_total{service="spec"}')
  postgres = Promise.reject(new Error('down'))
  expect(await get('/readyz')).toEqual({ status: 503, body: '{"status":"not ready","missing":["postgres"]}' })
  postgres = new Promise(() => {})
  expect((await get('/readyz')).status).toBe(503)
  lifecycle.onStop('slow', () => new Promise<void>((resolve) => (release = resolve)))
  const stopping = lifecycle.stop()
  expect((await get('/readyz')).body).toContain('draining')
  release()
  await stopping
})

test('a connection of a service outlives a lost SYN, although the other address of the name refuses', async () => {
  const before = getDefaultAutoSelectFamilyAttemptTimeout()
  const server = await startFullServer()
  try {
    await runService({
      name: 'spec',
      readConfig: () => ({ LOG_LEVEL: 'silent', OTEL_EXPORTER_OTLP_ENDPOINT: undefined }),
      start: async () => undefined,
    })
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
    const socket = connect({
      host: 'far.example',
      port: server.port,
      lookup: (_, __, callback) => callback(null, addresses),
    })
    const connected = once(socket, 'connect')
    await setImmediate()
    server.accept()
    await connected
    socket.destroy()
  } finally {
    setDefaultAutoSelectFamilyAttemptTimeout(before)
    await server.stop()
  }
})

test('a service ends though the reader of its log is gone', async () => {
  const program = `
    const { runService } = require(${JSON.stringify(join(__dirname, '../../dist/runtime'))})
    runService({
      name: 'spec',
      readConfig: () => ({ LOG_LEVEL: 'info' }),
      start: async ({ logger, lifecycle }) => {
        lifecycle.onStop('lines', () => [1, 2, 3].forEach((line) => logger.info({ line }, 'stopping')))
        setInterval(() => undefined, 1000)
      },
    })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  child.stdout.destroy()
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
