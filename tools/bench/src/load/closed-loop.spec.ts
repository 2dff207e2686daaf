import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closedLoop } from './closed-loop'
import { matchArrivals } from './match-arrivals'
import { openLoop } from './open-loop'
import { latencyOf } from './percentiles'

let server: Server
let answer: RequestListener
let port: number

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})

afterAll(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})

const request = { method: 'POST', path: '/leads', body: 'x'.repeat(100_000) } as const

it('sends the asked number of whole requests and reads whole answers, however they are cut', async () => {
  const bodies: number[] = []
  answer = (incoming, response) => {
    let length = 0
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    incoming.on('end', () => {
      bodies.push(length)
      response.writeHead(200, { 'content-length': '200000' })
      response.write('y'.repeat(50_000))
      setImmediate(() => response.end('y'.repeat(150_000)))
    })
  }
  const result = await closedLoop({ port, connections: 4, requests: [request], seconds: 30, amount: 20 })
  expect(result.requests).toBe(20)
  expect(bodies).toEqual(Array.from({ length: 20 }, () => 100_000))
})

it('fails when an answer is no success', async () => {
  answer = (_, response) => response.writeHead(503, { 'content-length': '0' }).end()
  const job = { port, connections: 2, requests: [request], seconds: 1 }
  await expect(closedLoop(job)).rejects.toThrow('503')
})

it('keeps its rate although answers are slow, and counts waiting from when a request was due', async () => {
  let count = 0
  answer = (_, response) => {
    const body = `{"data":{"reference":"lead-${count++}"}}`
    setTimeout(() => response.writeHead(200, { 'content-length': body.length }).end(body), 50)
  }
  const job = { port, requests: [{ method: 'GET', path: '/' } as const], seconds: 0.5, perSecond: 100 }
  const { requests, latency, answers } = await openLoop({ ...job, connections: 16 })
  expect(requests).toBe(50)
  expect(latency.p50).toBeGreaterThanOrEqual(45)
  expect(new Set(answers.references).size).toBe(50)

  // Two connections can't keep up: those that wait for one are late from their own time on.
  const starved = await openLoop({ ...job, connections: 2 })
  expect(starved.latency.max).toBeGreaterThan(400)
})

it('matches each webhook with the answer to its create, once', () => {
  const answers = { references: ['a', 'b', 'c'], at: [100, 200, 300] }
  const arrivals = { keys: ['/ok a', '/ok a', '/hang b', '/ok other'], at: [104, 105, 203, 400] }
  expect(matchArrivals(answers, arrivals)).toEqual({ waits: Float64Array.from([3, 4]), missing: 1 })
  const healthy = matchArrivals(answers, arrivals, (path) => path === '/ok')
  expect(healthy).toEqual({ waits: Float64Array.from([4]), missing: 2 })
})

it('takes percentiles by the nearest rank', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect(latencyOf(values)).toEqual({ p50: 50, p90: 90, p99: 99, max: 100 })
})
