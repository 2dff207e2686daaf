import { type FilledAccount, fillEndpoints } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { DIGITS, LETTERS } from '../load/another'

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36'

const authorization = ({ token }: FilledAccount) => ({ authorization: `Bearer ${token}` })

export const getRequest = (account: FilledAccount, path: string): Request => ({
  method: 'GET',
  path,
  headers: authorization(account),
})

/** A Create Lead request as a browser's form would bring it, of another person each time that it is sent (`another`). */
export const createRequest = (account: FilledAccount): Request => ({
  method: 'POST',
  path: '/leads',
  headers: { ...authorization(account), 'content-type': 'application/json', 'user-agent': BROWSER },
  body: JSON.stringify({
    name: 'New windows, front of house',
    first_name: 'Ada',
    last_name: LETTERS,
    email: `${LETTERS}@example.com`,
    phone: `077 ${DIGITS}`,
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  }),
})

/** Requests for different pages of the list: those that want the same page at once would share an answer. */
export const pageRequests = (account: FilledAccount, first: number, count: number): Request[] =>
  Array.from({ length: count }, (_, index) => getRequest(account, `/leads?page=${first + index}`))

/** Sends one request; throws unless it succeeds. */
export const ask = async <T>(port: number, { method, path, headers, body }: Request): Promise<T> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...{ method: method!, headers: headers as Record<string, string>, body: (body as string) ?? null },
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status} ${text}`)
  return text === '' ? (undefined as T) : JSON.parse(text)
}

/** An item of a quote, of the hundreds that a large lead has. */
const ITEM = {
  ...{
    product_style_id: 1,
    name: 'Casement window, white',
    price: 48213,
    cost: 30000,
    format: 'window',
    status: 'active',
  },
  options: { width: '1200', height: '900', glass: 'double glazed, toughened', colour: 'white both sides' },
  product_style: { sku: 'CAS-1', name: 'Casement', product: { name: 'Window' } },
}

/** A request with a body of JSON. */
export const jsonRequest = (
  account: FilledAccount,
  method: Request['method'],
  path: string,
  body: unknown,
): Request => ({
  ...{ ...getRequest(account, path), method: method!, body: JSON.stringify(body) },
  headers: { ...getRequest(account, path).headers, 'content-type': 'application/json' },
})

/** Creates a lead with so many items; 250 are the most. Their image is uploaded. */
export const largeLeadRequest = async (
  { stack }: Context,
  items: number,
  account: FilledAccount,
): Promise<Request> => {
  const form = new FormData()
  form.append(
    'file',
    new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>'], { type: 'image/svg+xml' }),
    'a.svg',
  )
  const encoded = new Response(form)
  const headers = { ...getRequest(account, '').headers, 'content-type': encoded.headers.get('content-type')! }
  const body = Buffer.from(await encoded.arrayBuffer())
  const image = await ask<{ data: { id: number } }>(stack.port, {
    ...{ method: 'POST', path: '/manage/images', headers, body },
  })
  const item = { ...ITEM, image_id: image.data.id }
  return jsonRequest(account, 'POST', '/manage/leads', {
    ...JSON.parse(createRequest(account).body as string),
    quotes: [{ status: 'complete', items: Array.from({ length: items }, () => item) }],
  })
}

interface Page {
  data: { reference: string }[]
  last_page: number
}

/** Requests for leads of an account, from as many of its pages, drawn at random, as hold `count`. */
export const retrieveRequests = async (
  { stack }: Context,
  account: FilledAccount,
  count: number,
): Promise<Request[]> => {
  const page = (number: number) => ask<Page>(stack.port, getRequest(account, `/leads?page=${number}`))
  const { last_page } = await page(1)
  const drawn = Array.from({ length: Math.ceil(count / 20) }, () => 1 + Math.floor(Math.random() * last_page))
  const pages: Page[] = []
  for (const number of drawn) pages.push(await page(number))
  return pages.flatMap(({ data }) => data.map(({ reference }) => getRequest(account, `/leads/${reference}`)))
}

/** Runs `work` while each of the accounts has one endpoint more; deleting them cancels what is pending. */
export const withEndpoints = async <T>(
  { stack, webhooks, receiver }: Context,
  accounts: FilledAccount[],
  work: (endpoints: number[]) => Promise<T>,
  urlOf: (index: number) => string = () => receiver.url,
): Promise<T> => {
  const endpoints: number[] = []
  const { encryptionKeys } = stack
  for (const [index, { id: accountId }] of accounts.entries())
    endpoints.push(
      (await fillEndpoints(webhooks, { accountId, count: 1, url: urlOf(index), encryptionKeys })).ids[0]!,
    )
  try {
    return await work(endpoints)
  } finally {
    for (const [index, id] of endpoints.entries()) {
      const request = getRequest(accounts[index]!, `/manage/webhook-endpoints/${id}`)
      await ask(stack.port, { ...request, method: 'DELETE' })
    }
  }
}
