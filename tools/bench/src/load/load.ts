import { connect, type Socket } from 'node:net'
import { percentile, sortNumbers } from '../measure/statistics'
import type { HttpRequest } from './http-request'
import { insertNextPerson } from './insert-next-person'

export interface Load {
  port: number
  connections: number
  /** Each connection sends some of these requests, drawn at random. */
  requests: HttpRequest[]
  seconds: number
  /** If set, the load sends this number of requests instead of lasting `seconds`. */
  amount?: number
}

export interface LoadResult {
  requests: number
  perSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** The number of requests that a connection draws before the load. It sends them in a loop. */
const DRAWN = 100

const encodeRequest = ({ method, path, headers, body = '' }: HttpRequest): string | Buffer => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}${length}\r\n`
  return typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head), body])
}

/**
 * Reads the length of a whole response from its head. Throws unless its status is 2xx and it has a
 * content-length.
 */
const readLength = (data: Buffer, path: string): number => {
  const end = data.indexOf('\r\n\r\n')
  const head = data.toString('latin1', 0, end)
  const length = /^HTTP\/1\.1 2\d\d[\s\S]*?\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (end < 0 || length === undefined) throw new Error(`the response to ${path} was ${data}`)
  return end + 4 + Number(length)
}

/**
 * Sends requests to a server. Each connection has one request in flight. Rejects when any request fails. Uses
 * a cheap client, because the client shares the processors with the server: autocannon took 54 µs for each
 * request, a tenth of what a create costs all services.
 */
export const load = async ({ port, connections, requests, seconds, amount }: Load): Promise<LoadResult> => {
  const encoded = requests.map((request) => ({ path: request.path, bytes: encodeRequest(request) }))
  const latencies: number[] = []
  const startedAt = performance.now()
  let lastAt = startedAt
  let sent = 0
  const sockets: Socket[] = []
  const isOver = () =>
    amount === undefined ? performance.now() - startedAt > seconds * 1000 : sent >= amount
  const runConnection = () =>
    new Promise<void>((resolve, reject) => {
      const drawn = Array.from({ length: DRAWN }, () => encoded[Math.floor(Math.random() * encoded.length)]!)
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      sockets.push(socket)
      let next = 0
      let sentAt = 0
      let bytesLeft = 0
      let { path } = drawn[0]!
      const send = () => {
        if (isOver()) return void socket.end(resolve)
        const request = drawn[next % drawn.length]!
        next += 1
        path = request.path
        sent += 1
        sentAt = performance.now()
        socket.write(insertNextPerson(request.bytes))
      }
      socket.setTimeout(60_000, () => socket.destroy(new Error(`${path} got no response within 60 s`)))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`${path}: the server closed the connection`)))
      socket.on('connect', send)
      socket.on('data', (data) => {
        try {
          bytesLeft = (bytesLeft || readLength(data, path)) - data.length
        } catch (error) {
          return void socket.destroy(error as Error)
        }
        if (bytesLeft > 0) return
        lastAt = performance.now()
        latencies.push(lastAt - sentAt)
        send()
      })
    })
  try {
    await Promise.all(Array.from({ length: connections }, runConnection))
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  const ascending = sortNumbers(latencies)
  return {
    requests: latencies.length,
    perSecond: (latencies.length / (lastAt - startedAt)) * 1000,
    p50: percentile(ascending, 0.5),
    p99: percentile(ascending, 0.99),
  }
}
