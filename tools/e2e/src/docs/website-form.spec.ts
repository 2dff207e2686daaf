import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import type { Browser, Page } from 'playwright-core'
import { publish } from '../capture/capture.fixture'
import { findChromium, startChromium } from '../console/chromium.fixture'
import { PNG } from '../files/samples.fixture'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../stage.fixture'

const GUIDE = resolve(__dirname, '../../../../docs/guides/website-form.md')

const path = findChromium()
if (!path) console.warn('The page of the guide was not tried: there is no Chromium here.')

/** The files of the guide, by the addresses that its page gives them. */
const filesOf = (guide: string, values: Record<string, string>): Record<string, string> => {
  const block = (language: string) =>
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)![1]!
  const page = block('html').replace(/BASE_URL|CAPTURE_TOKEN/g, (name) => values[name]!)
  return { '/': page, '/form.js': block('js'), '/thanks.html': '<!doctype html><title>Thanks</title>' }
}

;(path ? describe : describe.skip)('the page of the guide', () => {
  let stage: SharedStage
  let browser: Browser
  let site: Server
  let origin: string
  let files: Record<string, string>
  let tenant: Tenant
  beforeAll(async () => {
    site = createServer(({ url = '' }, response) => {
      const { pathname } = new URL(url, origin)
      const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html'
      response.writeHead(files[pathname] ? 200 : 404, { 'content-type': type }).end(files[pathname])
    })
    await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
    // Another site than the API's, not only another port.
    origin = `http://localhost:${(site.address() as AddressInfo).port}`
    ;[stage, browser] = await Promise.all([joinStage(), startChromium(path!)])
    tenant = await stage.newTenant()
    const { token } = await publish(tenant, {
      ...{ origins: [origin], return_url: `${origin}/thanks.html`, honeypot: 'fax' },
    })
    const values = { BASE_URL: stage.system.baseUrl, CAPTURE_TOKEN: token }
    files = filesOf(await readFile(GUIDE, 'utf8'), values)
  })
  afterAll(async () => {
    await browser?.close()
    site.close()
    await stage?.stop()
  })

  const visit = async (javaScriptEnabled: boolean, work: (page: Page) => Promise<string>) => {
    const context = await browser.newContext({ javaScriptEnabled })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (
        ['error', 'warning'].includes(message.type()) &&
        !/favicon/.test(message.location().url) &&
        !/ERR_FAILED/.test(message.text())
      )
        complaints.push(message.text())
    })
    await page.goto(origin)
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('Last name').fill(javaScriptEnabled ? 'Byron' : 'Lovelace')
    await page.getByLabel('E-mail').fill(LEAD.email)
    await page.getByLabel('Telephone').fill(LEAD.phone)
    await page.getByLabel('Postcode').fill(LEAD.postcode)
    const reference = await work(page)
    expect(complaints).toEqual([])
    await context.close()
    return tenant.send('GET', `/leads/${reference}`)
  }

  const countLeads = async () => {
    const { json } = await tenant.client.request<{ data: object[] }>('GET', '/leads')
    return json.data.length
  }

  test('without JavaScript the form is sent with its photo, and the person comes back', async () => {
    const lead = await visit(false, async (page) => {
      await page.getByLabel('Your wishes').fill('After six.\nThank you.')
      await page.getByLabel('Photo').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: PNG })
      await page.getByRole('button', { name: 'Send' }).click()
      await page.waitForURL(/thanks\.html\?reference=/)
      return new URL(page.url()).searchParams.get('reference')!
    })
    expect(lead).toMatchObject({ name: 'Kitchen windows', status: 'open', referrer: 'Website' })
    expect(lead['user_agent']).toMatch(/Chrome/)
    expect(await tenant.send('GET', `/leads/${lead.reference}/attachments`)).toMatchObject([
      { file_name: 'a.png' },
    ])
  })

  test('without JavaScript the person comes back with what is invalid', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(origin)
    for (const label of ['First name', 'Last name', 'Telephone', 'Postcode'])
      await page.getByLabel(label).fill('Nothing 1')
    await page.getByLabel('E-mail').fill(LEAD.email)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.waitForURL(/thanks\.html\?error=invalid&field=postcode$/)
    await context.close()
  })

  test('with JavaScript the page stays, and shows the reference', async () => {
    const before = await countLeads()
    const lead = await visit(true, async (page) => {
      const status = page.getByRole('status')
      await page.route('**/leads', (route) => route.abort(), { times: 1 })
      await page.getByRole('button', { name: 'Send' }).click()
      await eventually(async () => expect(await status.textContent()).toMatch(/try again/))
      await page.getByRole('button', { name: 'Send' }).dblclick()
      await eventually(async () => expect(await status.textContent()).toMatch(/Your reference is/))
      expect(page.url()).toBe(`${origin}/`)
      // Another one from the same page.
      const first = await status.textContent()
      await page.getByLabel('First name').fill('Grace')
      await page.getByRole('button', { name: 'Send' }).click()
      await eventually(async () => expect(await status.textContent()).not.toBe(first))
      return /reference is (\S+)\.$/.exec((await status.textContent())!)![1]!
    })
    expect(lead).toMatchObject({ name: 'Kitchen windows', customer: { name: 'Grace Byron' } })
    expect(await countLeads()).toBe(before + 2)
  })
})
