import { hash } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import type { ExportLeadsRequest } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { type Behind, type RunningGateway, retrieveAllBut, startGateway } from './gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const TOKEN = {
  tokenId: 7,
  accountId: 3,
  scopes: ['leads', 'manage'],
  test: false,
  suspended: false,
  name: 'Spec',
  origins: [],
  expiresAtMs: undefined,
  expiresAt: undefined,
}

// The hash of the publishable token `form`.
const FORM_HASH = hash('sha256', 'form', 'hex')
const ORIGINS = ['https://www.example.com']

let gateway: RunningGateway
let isRevoked: boolean
let created: number
let isUploading: boolean
let deleted: string[]

beforeAll(async () => {
  const leads = Array.from({ length: 200 }, () => Buffer.alloc(1000, '1'))
  let bytesRead = 0
  const behind: Behind = {
    accounts: {
      verifyTokens: async ({ hashes }) => ({
        results: hashes.map((of) => {
          const isForm = Buffer.from(of).toString('hex') === FORM_HASH
          const form = { origins: ORIGINS, stampKey: Buffer.alloc(32, 1) }
          return { token: isRevoked ? undefined : { ...TOKEN, ...(isForm && form) } }
        }),
      }),
    },
    // Neither an export nor an import ends by itself, so only the revocation can end the response.
    leads: {
      exportLeads: async ({ after = 0 }: ExportLeadsRequest) => ({ leads, nextAfter: after + 200 }),
      retrieveLeads: retrieveAllBut(),
      createLeads: async ({ leads }) => {
        created += leads.length
        const value = Buffer.from('{"data":{"reference":"r"}}')
        return { results: leads.map(() => ({ result: { $case: 'body' as const, value } })) }
      },
    },
    imports: {
      retrieveImport: async () => ({
        body: Buffer.from(
          JSON.stringify({ data: { state: 'running', bytes_read: ++bytesRead, finished_at: null } }),
        ),
      }),
    },
    files: async (request, response) => {
      isUploading = request.method === 'POST'
      if (isUploading) await buffer(request)
      else deleted.push(request.url!)
      const upload = { key: 'attachments/1.txt', size: 5, content_type: 'text/plain', sha256: '' }
      response.end(JSON.stringify(upload))
    },
  }
  // Does not end an upload because it arrives slowly, so that only the revocation does.
  gateway = await startGateway(behind, { uploadLimits: { graceMs: 600_000 } })
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => gateway.stop())

const begin = (method: string, path: string, headers = {}): ClientRequest => {
  const { port } = gateway.app.server.address() as AddressInfo
  const options = { method, path, headers: { authorization: 'Bearer one', ...headers } }
  return send({ host: '127.0.0.1', port, ...options })
}

const answered = async (request: ClientRequest): Promise<IncomingMessage> =>
  (await once(request, 'response'))[0]

const expectStatus = (path: string, status: number) =>
  eventually(async () => {
    const response = await answered(begin('GET', path).end())
    response.resume()
    expect(response.statusCode).toBe(status)
  })

const revoke = async () => {
  isRevoked = true
  await expectStatus('/token', 401)
  await expectStatus('/capture/form/stamp', 404)
}

beforeEach(async () => {
  isRevoked = false
  created = 0
  isUploading = false
  deleted = []
  await expectStatus('/token', 200)
  await expectStatus('/capture/form/stamp', 200)
})

test.each(['/manage/exports', '/manage/imports/1/events'])('%s breaks off', async (path) => {
  const response = await answered(begin('GET', path).end())
  const end = finished(response.resume())
  await Promise.all([revoke(), expect(end).rejects.toMatchObject({ code: 'ECONNRESET' })])
})

const FIELDS = {
  name: 'Note',
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'a@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
}

test.each([
  [`/leads/${REFERENCE}/attachments`, 401],
  ['/capture/form', 404],
])('a file that was on its way to %s is not recorded, and its bytes are deleted', async (path, status) => {
  const fields = Object.entries(FIELDS).flatMap(([name, value]) => [
    '--b',
    `Content-Disposition: form-data; name="${name}"`,
    '',
    value,
  ])
  const file = ['--b', 'Content-Disposition: form-data; name="file"; filename="a.txt"', '', 'byt']
  const request = begin('POST', path, { 'content-type': 'multipart/form-data; boundary=b' })
  const response = answered(request)
  request.write([...fields, ...file].join('\r\n'))
  await eventually(() => expect(isUploading).toBe(true))
  await revoke()
  request.end('es\r\n--b--\r\n')
  expect([(await response).statusCode, created]).toEqual([status, 0])
  expect(deleted).toEqual(['/files/attachments/1.txt'])
})
