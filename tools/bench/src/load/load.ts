import { connect, type Socket } from 'node:net'
import type { Request } from 'autocannon'
import { percentile, sorted } from '../measure/statistics'
import { another } from './another'

export interface Load {
  port: number
  connections: number
  /** Each connection sends some of these, drawn at random, in turn. */
  requests: Request[]
  seconds: number
  /** So many requests instead of so many seconds. */
  amount?: number
}

export interface LoadResult {
  requests: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** How many requests a connection repeats. */
const DRAWN = 100

const bytesOf = ({ method = 'GET', path = '/', headers = {}, body = '' }: Request): string | Buffer => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}${length}\r\n`
  return typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head), body])
}

/** The length of a response by its head. Throws unless its status is 2xx and it has a length. */
const lengthOf = (data: Buffer, path: string | undefined): number => {
  const end = data.indexOf('\r\n\r\n')
  const head = data.toString('latin1', 0, end)
  const length = /^HTTP\/1\.1 2\d\d[\s\S]*?\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (end < 0 || length === undefined) throw new Error(`${path} was answered ${data}`)
  return end + 4 + Number(length)
}

/**
 * Loads a server from connections with one request in flight each. Rejects when any request fails. It shares the processors with what
 * it measures: autocannon took 54 us a request, a tenth of what a create costs all services.
 */
export const load = async ({ port, connections, requests, seconds, amount }: Load): Promise<LoadResult> => {
  const all = requests.map((request) => ({ path: request.path, bytes: bytesOf(request) }))
  const latencies: number[] = []
  const startedAt = performance.now()
  let lastAt = startedAt
  let sent = 0
  const sockets: Socket[] = []
  const isOver = () =>
    amount === undefined ? performance.now() - startedAt > seconds * 1000 : sent >= amount
  const connection = () =>
    new Promise<void>((resolve, reject) => {
      const drawn = Array.from({ length: DRAWN }, () => all[Math.floor(Math.random() * all.length)]!)
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      sockets.push(socket)
      let [next, sentAt, left, path] = [0, 0, 0, drawn[0]!.path]
      const send = () => {
        if (isOver()) return void socket.end(resolve)
        const request = drawn[next++ % drawn.length]!
        path = request.path
        sent += 1
        sentAt = performance.now()
        socket.write(another(request.bytes))
      }
      socket.setTimeout(60_000, () => socket.destroy(new Error(`${path} was not answered within 60 s`)))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`${path}: the server closed the connection`)))
      socket.on('connect', send)
      socket.on('data', (data) => {
        try {
          left = (left || lengthOf(data, path)) - data.length
        } catch (error) {
          return void socket.destroy(error as Error)
        }
        if (left > 0) return
        lastAt = performance.now()
        latencies.push(lastAt - sentAt)
        send()
      })
    })
  try {
    await Promise.all(Array.from({ length: connections }, connection))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  const inOrder = sorted(latencies)
  return {
    requests: latencies.length,
    perSecond: (latencies.length / (lastAt - startedAt)) * 1000,
    p50: percentile(inOrder, 0.5),
    p99: percentile(inOrder, 0.99),
  }
}
