import type { FilledAccount } from '@leadwire/fill'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { DIGITS, LETTERS } from '../load/insert-next-person'

/** The number of leads on a page of the list. */
export const PAGE_SIZE = 20

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36'

const buildHeaders = ({ token }: FilledAccount) => ({ authorization: `Bearer ${token}` })

export const buildGet = (account: FilledAccount, path: string): HttpRequest => ({
  method: 'GET',
  path,
  headers: buildHeaders(account),
})

export const buildDelete = (account: FilledAccount, path: string): HttpRequest => ({
  method: 'DELETE',
  path,
  headers: buildHeaders(account),
})

/** Builds a request with a JSON body. */
export const buildJsonRequest = (
  account: FilledAccount,
  method: HttpRequest['method'],
  path: string,
  body: unknown,
): HttpRequest => ({
  method,
  path,
  headers: { ...buildHeaders(account), 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/**
 * A lead as a form on a website sends it. A load replaces the placeholders, so that each lead has a new
 * person.
 */
const LEAD = {
  name: 'New windows, front of house',
  first_name: 'Ada',
  last_name: LETTERS,
  email: `${LETTERS}@example.com`,
  phone: `077${DIGITS}`,
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

export const buildCreate = (account: FilledAccount): HttpRequest => {
  const request = buildJsonRequest(account, 'POST', '/leads', LEAD)
  return { ...request, headers: { ...request.headers, 'user-agent': BROWSER } }
}

const ITEM = {
  product_style_id: 1,
  name: 'Casement window, white',
  price: 48213,
  cost: 30000,
  format: 'window',
  status: 'active',
  options: { width: '1200', height: '900', glass: 'double glazed, toughened', colour: 'white both sides' },
  product_style: { sku: 'CAS-1', name: 'Casement', product: { name: 'Window' } },
}

/**
 * Builds a create of a lead with one quote of `items` items (at most 250). Uploads the image of the items.
 */
export const buildLargeCreate = async (
  { stack }: Context,
  account: FilledAccount,
  items: number,
): Promise<HttpRequest> => {
  const svg = new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>'], { type: 'image/svg+xml' })
  const form = new FormData()
  form.append('file', svg, 'a.svg')
  const upload = await buildFormRequest(account, '/manage/images', form)
  const { data: image } = await sendRequest<{ data: { id: number } }>(stack.port, upload)
  const item = { ...ITEM, image_id: image.id }
  const quote = { status: 'complete', items: Array.from({ length: items }, () => item) }
  return buildJsonRequest(account, 'POST', '/manage/leads', { ...LEAD, quotes: [quote] })
}

/** Builds a POST of a multipart form. */
export const buildFormRequest = async (
  account: FilledAccount,
  path: string,
  form: FormData,
): Promise<HttpRequest> => {
  const encoded = new Response(form)
  return {
    method: 'POST',
    path,
    headers: { ...buildHeaders(account), 'content-type': encoded.headers.get('content-type')! },
    body: Buffer.from(await encoded.arrayBuffer()),
  }
}

/**
 * Builds requests for different pages of the list, because concurrent requests for the same page share a
 * response.
 */
export const buildPageRequests = (account: FilledAccount, first: number, count: number): HttpRequest[] =>
  Array.from({ length: count }, (_, index) => buildGet(account, `/leads?page=${first + index}`))

interface Page {
  data: { reference: string }[]
  last_page: number
}

/** Builds about `count` requests for leads of an account. Takes all leads of randomly drawn pages. */
export const buildRetrieveRequests = async (
  { stack }: Context,
  account: FilledAccount,
  count: number,
): Promise<HttpRequest[]> => {
  const readPage = (page: number) => sendRequest<Page>(stack.port, buildGet(account, `/leads?page=${page}`))
  const { last_page: lastPage } = await readPage(1)
  const requests: HttpRequest[] = []
  for (let pages = 0; pages < count / PAGE_SIZE; pages++) {
    const { data } = await readPage(1 + Math.floor(Math.random() * lastPage))
    for (const { reference } of data) requests.push(buildGet(account, `/leads/${reference}`))
  }
  return requests
}

/** Sends one request, and returns the JSON of its response. Throws unless it succeeds. */
export const sendRequest = async <T>(port: number, request: HttpRequest): Promise<T> => {
  const { method, path, headers, body } = request
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body: body ?? null })
  const text = await response.text()
  if (!response.ok) throw new Error(`the response to ${method} ${path} was ${response.status} ${text}`)
  return text === '' ? (undefined as T) : JSON.parse(text)
}
