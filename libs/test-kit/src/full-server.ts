import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'

export type FullServer = {
  port: number
  /**
   * Makes the server accept connections. A waiting client connects with its next SYN, which the kernel sends
   * a second after the first.
   */
  accept(): void
  stop(): Promise<void>
}

// A server that writes its port and then blocks until it reads a byte, so that it accepts no connection. The
// kernel queues one connection more than `backlog`.
const PROGRAM = `
const { createServer } = require('node:http')
const { readSync, writeSync } = require('node:fs')
const server = createServer((request, response) => request.resume().on('end', () => response.end()))
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  writeSync(1, String(server.address().port))
  readSync(0, Buffer.alloc(1))
})`
const QUEUED = 2

/**
 * Starts an HTTP server on 127.0.0.1 whose queue of connections is full, so that the kernel drops SYNs. After
 * `accept` it responds with 200.
 */
export async function startFullServer(): Promise<FullServer> {
  const child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [port] = (await once(child.stdout!, 'data')).map(Number)
  const queued = Array.from({ length: QUEUED }, () => connect(port!, '127.0.0.1'))
  await Promise.all(queued.map((socket) => once(socket, 'connect')))
  return {
    port: port!,
    accept: () => void child.stdin!.write('x'),
    stop: async () => {
      for (const socket of queued) socket.destroy()
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
