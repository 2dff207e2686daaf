// Creates, lists and retrieves a lead, attaches a file and downloads it, with the HTTP library that the
// argument names.
import { readFile } from 'node:fs/promises'
import process from 'node:process'

const { BASE_URL, TOKEN } = process.env
const headers = { authorization: `Bearer ${TOKEN}` }
const lead = JSON.parse(await readFile(new URL('lead.json', import.meta.url), 'utf8'))

/**
 * Each function loads an HTTP library and resolves to a function that sends requests. That function sends an
 * object as JSON, and a FormData as a form. It resolves to the text of the response.
 */
const SENDERS = {
  axios: async () => {
    const { default: axios } = await import('axios')
    return async (method, url, data) =>
      (await axios.request({ method, url, data, headers, responseType: 'text', transformResponse: [] })).data
  },
  got: async () => {
    const { default: got } = await import('got')
    return (method, url, data) =>
      got(url, { method, headers, ...(data instanceof FormData ? { body: data } : { json: data }) }).text()
  },
  ky: async () => {
    const { default: ky } = await import('ky')
    return (method, url, data) =>
      ky(url, { method, headers, ...(data instanceof FormData ? { body: data } : { json: data }) }).text()
  },
  undici: async () => {
    const { FormData: UndiciForm, request } = await import('undici')
    const write = (data) => {
      if (data === undefined) return {}
      if (!(data instanceof FormData))
        return { body: JSON.stringify(data), headers: { ...headers, 'content-type': 'application/json' } }
      const form = new UndiciForm()
      for (const [name, value] of data) form.append(name, value)
      return { body: form }
    }
    return async (method, url, data) => {
      const { statusCode, body } = await request(url, { method, headers, ...write(data) })
      const text = await body.text()
      if (statusCode !== 200) throw new Error(text)
      return text
    }
  },
}

const send = await SENDERS[process.argv[2]]()
const sendJson = async (...request) => JSON.parse(await send(...request))
const { data: created } = await sendJson('POST', `${BASE_URL}/leads`, lead)
const page = await sendJson('GET', `${BASE_URL}/leads`)
const { data: retrieved } = await sendJson('GET', `${BASE_URL}/leads/${created.reference}`)
const attachments = `${BASE_URL}/leads/${created.reference}/attachments`
const form = new FormData()
form.append('name', 'Notes')
form.append('file', new File(['notes'], '24" Grüße.txt'))
const { data: attached } = await sendJson('POST', attachments, form)
const file = await send('GET', `${attachments}/${attached.id}`)
process.stdout.write(
  JSON.stringify({
    listed: page.data.map(({ reference }) => reference),
    email: retrieved.customer.email,
    file,
  }),
)
