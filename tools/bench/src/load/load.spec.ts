import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { load } from './load'
import { openLoop } from './open-loop'

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

const requests = ['/a', '/b'].map((path) => ({ method: 'POST' as const, path, body: '{}' }))

it('sends the asked number of requests, all that it was given', async () => {
  const paths: string[] = []
  answer = (request, response) => {
    paths.push(request.url!)
    response.end('{}')
  }
  const result = await load({ port, connections: 8, requests, seconds: 1, amount: 400 })
  expect(result.requests).toBe(400)
  expect(new Set(paths)).toEqual(new Set(['/a', '/b']))
})

it('fails when an answer is no success', async () => {
  answer = (_, response) => response.writeHead(503).end()
  await expect(load({ port, connections: 2, requests, seconds: 1, amount: 4 })).rejects.toThrow(
    'was answered HTTP/1.1 503',
  )
})

it('sends at its rate although nothing is answered yet', async () => {
  const waiting: (() => void)[] = []
  let count = 0
  answer = (request, response) => {
    waiting.push(() => response.end(`{"data":{"reference":"${request.url}${count}"}}`))
    // A closed loop would wait here for ever.
    count += 1
    if (count >= 50) for (const respond of waiting.splice(0)) respond()
  }
  const created = await openLoop({ port, requests, seconds: 0.5, perSecond: 100 })
  expect(created.map(({ request }) => request)).toEqual(Array.from({ length: 50 }, (_, index) => index % 2))
})
