import { type AddressInfo, connect, type Socket } from 'node:net'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const LEAD = '/leads/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const ORIGIN = 'https://www.example.com'
const PERSON = {
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'ada@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
}
const CREATE = { name: 'Windows', ...PERSON, referrer: 'Website', status: 'open' }
const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

let gateway: RunningGateway
let port: number
let sockets: Socket[]
let createsAreHeld: boolean
let heldCreates: number
/** How many uploads have reached files-service. */
let begunUploads: number
let releaseCreates: () => void

const start = async (options: Parameters<typeof startGateway>[1] = {}) => {
  const released = new Promise<void>((resolve) => {
    releaseCreates = resolve
  })
  const upload = { key: 'attachments/a.txt', size: 5, content_type: 'text/plain', sha256: '00' }
  gateway = await startGateway(
    {
      leads: {
        retrieveLeads: async ({ leads }) => ({
          results: leads.map(() => ({
            result: { $case: 'body' as const, value: Buffer.from('{"data":{}}') },
            etag: undefined,
          })),
        }),
        createLeads: async ({ leads }) => {
          heldCreates += leads.length
          if (createsAreHeld) await released
          const value = Buffer.from('{"data":{"reference":"r"}}')
          return { results: leads.map(() => ({ result: { $case: 'body' as const, value } })) }
        },
        updateLead: async () => ({ body: Buffer.from('{}') }),
      },
      attachments: {
        attachFile: async () => ({ body: Buffer.from('{"data":{}}') }),
        countCapturedBytes: async () => ({}),
      },
      files: (request, response) => {
        if (request.method === 'POST') begunUploads += 1
        request
          .resume()
          .on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify(upload)))
      },
    },
    { ...options, config: { CAPTURE_RATE: { requests: 1000, windowMs: 60_000 }, ...options.config } },
  )
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
  port = (gateway.app.server.address() as AddressInfo).port
}

beforeEach(() => {
  sockets = []
  createsAreHeld = false
  heldCreates = 0
  begunUploads = 0
})
afterEach(async () => {
  releaseCreates()
  for (const socket of sockets) socket.destroy()
  await gateway.stop()
})

const open = (text: string, from = '127.0.0.1') => {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  const opened = { socket, received: '', isClosed: false }
  socket
    .on('error', () => undefined)
    .on('data', (chunk) => {
      opened.received += chunk
    })
    .on('close', () => {
      opened.isClosed = true
    })
    .write(text)
  sockets.push(socket)
  return opened
}

const readResponse = async (opened: ReturnType<typeof open>) => {
  await eventually(() => expect(opened.received).toContain('}'))
  const [head = '', body = ''] = opened.received.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), detail: JSON.parse(body).detail }
}

const buildHead = (line: string, length: number, headers: string[] = []) =>
  [`${line} HTTP/1.1`, 'Host: x', `Content-Length: ${length}`, ...headers, '', ''].join('\r\n')

const JSON_TYPE = 'Content-Type: application/json'
const PUBLIC = [`Origin: ${ORIGIN}`, 'Authorization: Bearer form', JSON_TYPE]

const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded'
const MULTIPART_TYPE = 'Content-Type: multipart/form-data; boundary=XX'

describe('requests whose bodies have not arrived hold up no other request of the account', () => {
  test.each<[string, string, number, string[]]>([
    ['Create Lead with a publishable token', 'POST /leads', 60 * KIBIBYTE, PUBLIC],
    ['a form of a page', 'POST /capture/form', 60 * KIBIBYTE, [FORM_TYPE]],
    ["one with the account's own token", `PATCH ${LEAD}`, MEBIBYTE, ['Authorization: Bearer all', JSON_TYPE]],
  ])('%s', async (_what, line, length, headers) => {
    await start()
    for (let count = 0; count < 20; count += 1) open(buildHead(line, length, headers))
    const form = open(`${buildHead('POST /capture/form', 3, [FORM_TYPE])}a=b`)
    expect((await readResponse(form)).status).toBe(422)
    expect((await gateway.send({ url: LEAD })).statusCode).toBe(200)
  })
})

test('requests with a publishable token that services hold up leave the account its own requests', async () => {
  await start()
  createsAreHeld = true
  const headers = { authorization: 'Bearer form', origin: ORIGIN }
  const creates = Array.from({ length: 140 }, () =>
    gateway.send({ method: 'POST', url: '/leads', headers, payload: CREATE }),
  )
  await eventually(() => expect(heldCreates).toBeGreaterThan(0))
  expect((await gateway.send({ url: LEAD })).statusCode).toBe(200)
  releaseCreates()
  expect((await creates[0]!).statusCode).toBe(200)
})

describe('a form without files has at most 64 KiB', () => {
  beforeEach(() => start())

  const json = (size: number) => {
    const text = JSON.stringify({ ...CREATE, padding: '' })
    return text.replace('"padding":""', `"padding":"${'x'.repeat(size - text.length)}"`)
  }
  const createLead = (token: string, payload: string) =>
    gateway.send({
      method: 'POST',
      url: '/leads',
      headers: { authorization: `Bearer ${token}`, origin: ORIGIN, 'content-type': 'application/json' },
      payload,
    })

  test('Create Lead with a publishable token', async () => {
    expect((await createLead('form', json(64 * KIBIBYTE))).statusCode).toBe(200)
    const refused = await createLead('form', json(64 * KIBIBYTE + 1))
    expect([refused.statusCode, refused.json().detail]).toEqual([
      413,
      'The body may not be larger than 64 KiB.',
    ])
    expect((await createLead('all', json(64 * KIBIBYTE + 1))).statusCode).toBe(200)
  })

  test('POST /capture', async () => {
    const capture = (size: number) => {
      const fields = new URLSearchParams({ ...PERSON, padding: '' }).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const payload = `${fields}${'+'.repeat(size - fields.length)}`
      return gateway.send({ method: 'POST', url: '/capture/form', headers, payload })
    }
    expect((await capture(64 * KIBIBYTE)).statusCode).toBe(200)
    expect((await capture(64 * KIBIBYTE + 1)).statusCode).toBe(413)
  })

  test('POST /capture with the encoding for files', async () => {
    const field = (name: string, value: string) =>
      `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
    const capture = (padding: string[]) => {
      const fields = Object.entries(PERSON).map(([name, value]) => field(name, value))
      const payload = [...fields, ...padding.map((value) => field('padding', value)), '--XX--\r\n'].join('')
      const headers = { 'content-type': 'multipart/form-data; boundary=XX' }
      return gateway.send({ method: 'POST', url: '/capture/form', headers, payload })
    }
    const half = ' '.repeat(32 * KIBIBYTE - 100)
    expect((await capture([half, half])).statusCode).toBe(200)
    const refused = await capture([half, half, half])
    expect([refused.statusCode, refused.json().detail]).toEqual([
      413,
      'The fields of the form may not be larger than 65536 bytes.',
    ])
  })

  test('a body of unknown length is refused where it exceeds the limit', async () => {
    const head = ['POST /leads HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', ...PUBLIC, '', '']
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
    const { status, detail } = await readResponse(open(`${head.join('\r\n')}${chunk.repeat(5)}`))
    expect([status, detail]).toEqual([413, 'The body may not be larger than 64 KiB.'])
  })
})

describe('a body slower than 1 KiB a second', () => {
  const FILE = '--XX\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\nx'
  const OWN = ['Authorization: Bearer all', JSON_TYPE]

  test('is ended', async () => {
    await start({ uploadLimits: { graceMs: 250 } })
    const slow = [
      open(buildHead('POST /leads', 50_000, PUBLIC)),
      open(`${buildHead('POST /capture/form', 50_000, [FORM_TYPE])}x`),
      open(`${buildHead('POST /capture/form', 50_000, [MULTIPART_TYPE])}--XX`),
      open(`${buildHead('POST /capture/form', 50_000, [MULTIPART_TYPE])}${FILE}`),
      open(`${buildHead(`PATCH ${LEAD}`, 50_000, OWN)}{`),
      open(
        `${buildHead(`POST ${LEAD}/attachments`, 50_000, ['Authorization: Bearer all', MULTIPART_TYPE])}${FILE}`,
      ),
    ]
    const drip = setInterval(() => slow.slice(1).forEach(({ socket }) => void socket.write('x')), 50)
    for (const opened of slow) {
      const { status, detail } = await readResponse(opened)
      expect([status, detail]).toEqual([
        408,
        'The body arrived slower than 1 KiB a second. Send it again over a faster connection.',
      ])
    }
    await eventually(() => expect(slow.filter(({ isClosed }) => !isClosed)).toEqual([]))
    clearInterval(drip)
  })

  test('a faster one is read to its end', async () => {
    await start({ uploadLimits: { graceMs: 250 } })
    const body = JSON.stringify({ ...CREATE, padding: 'x'.repeat(3 * KIBIBYTE) })
    const steady = open(buildHead('POST /leads', body.length, PUBLIC))
    let sent = 0
    const more = setInterval(() => {
      steady.socket.write(body.slice(sent, sent + 200))
      sent += 200
    }, 50)
    expect((await readResponse(steady)).status).toBe(200)
    clearInterval(more)
  })
})

test('bodies that wait for their end take a bounded memory from each account', async () => {
  // Sets a long time limit for requests, so that only the disconnect frees the memory of the bodies.
  await start({ requestLimitMs: 600_000 })
  const head = buildHead('POST /manage/leads', MEBIBYTE, ['Authorization: Bearer all', JSON_TYPE])
  const part = ' '.repeat(MEBIBYTE - 1)
  const unfinished = Array.from({ length: 36 }, () => open(head + part))
  await eventually(() =>
    expect(unfinished.filter(({ received }) => received.includes('503'))).toHaveLength(4),
  )
  // A request with a publishable token succeeds, because it uses separate memory.
  const headers = { authorization: 'Bearer form', origin: ORIGIN }
  expect((await gateway.send({ method: 'POST', url: '/leads', headers, payload: CREATE })).statusCode).toBe(
    200,
  )
  const patch = async () =>
    (await gateway.send({ method: 'PATCH', url: LEAD, payload: { value: 5 } })).statusCode
  await eventually(async () => expect(await patch()).toBe(503))
  for (const { socket } of unfinished) socket.destroy()
  await eventually(async () => expect(await patch()).toBe(200))
})

describe('forms with files that are on their way', () => {
  const FILE = '--XX\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\nhello'
  const send = (from: string, headers: string[] = []) =>
    open(buildHead('POST /capture/form', 20_000, [MULTIPART_TYPE, ...headers]) + FILE, from)
  const REFUSED = [429, 'An address may have at most 4 forms with files at once. Try again when one is done.']

  const sendForm = async (from: string, headers: string[] = []) => {
    const fields = Object.entries(PERSON).map(
      ([name, value]) => `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const body = `${fields.join('')}${FILE}\r\n--XX--\r\n`
    const head = buildHead('POST /capture/form', body.length, [
      MULTIPART_TYPE,
      'Connection: close',
      ...headers,
    ])
    const sent = open(head + body, from)
    await eventually(() => expect(sent.isClosed).toBe(true))
    return Number(sent.received.split(' ')[1])
  }

  /** Starts a gateway that does not end a form because its file arrives slowly. */
  const startPatient = (options: Parameters<typeof startGateway>[1] = {}) =>
    start({ ...options, uploadLimits: { graceMs: 600_000 } })

  /**
   * Begins 32 forms. Waits until `refused` forms are refused, and the files of all others are on their way to
   * files-service. Returns the refused forms.
   */
  const fill = async (from: string, headers: (count: number) => string[], refused: number) => {
    const sent = Array.from({ length: 32 }, (_, count) => send(from, headers(count)))
    const listRefused = () => sent.filter(({ received }) => received !== '')
    await eventually(() =>
      expect([listRefused().length, begunUploads]).toEqual([refused, sent.length - refused]),
    )
    return listRefused()
  }

  test('from one address leave others their places', async () => {
    await startPatient()
    const [first] = await fill('127.0.0.1', () => [], 28)
    const { status, detail } = await readResponse(first!)
    expect([status, detail]).toEqual(REFUSED)
    expect(await sendForm('127.0.0.1')).toBe(429)
    expect(await sendForm('127.0.0.2')).toBe(200)
  })

  test('count by the address that a trusted proxy names, a /64 of IPv6 as one', async () => {
    await startPatient({ config: { TRUSTED_PROXIES: ['127.0.0.1'] } })
    const network = (count: number) => [`X-Forwarded-For: 2001:db8::${count.toString(16)}`]
    await fill('127.0.0.1', network, 28)
    expect(await sendForm('127.0.0.1', ['X-Forwarded-For: 2001:db8::ffff'])).toBe(429)
    expect(await sendForm('127.0.0.1', ['X-Forwarded-For: 2001:db8:0:1::1'])).toBe(200)
    expect(await sendForm('127.0.0.1', ['X-Forwarded-For: 192.0.2.1'])).toBe(200)
  })

  test('count by the address of a trusted proxy that names no visitor', async () => {
    await startPatient({ config: { TRUSTED_PROXIES: ['127.0.0.1'] } })
    await fill('127.0.0.1', (count) => [`X-Forwarded-For: 192.0.2.${count}, unknown`], 28)
  })

  test('count by connection behind a proxy that TRUSTED_PROXIES does not name', async () => {
    await startPatient()
    await fill('127.0.0.1', () => ['X-Forwarded-For: 192.0.2.1'], 0)
    // The account's places are all taken now, so the form of another visitor is refused.
    expect(await sendForm('127.0.0.2')).toBe(429)
  })

  test('that have ended give their places back', async () => {
    await startPatient()
    await fill('127.0.0.1', () => [], 28)
    for (const socket of sockets) socket.destroy()
    await eventually(async () => expect(await sendForm('127.0.0.1')).toBe(200))
  })
})
