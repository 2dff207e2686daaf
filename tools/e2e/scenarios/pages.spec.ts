import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import type { Browser, Page } from 'playwright-core'
import { violations } from '../support/axe'
import { publish } from '../support/capture'
import { findChromium, openTab, startChromium, type Tab } from '../support/chromium'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../support/stage'

const GUIDE = resolve(__dirname, '../../../docs/guides/website-form.md')

const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium)
  console.warn('SKIPPED: the specs of pages. No Chromium was found: set CHROMIUM_BIN, or put it on PATH.')

let stage: SharedStage
let browser: Browser
let tenant: Tenant
beforeAll(async () => {
  if (chromium) [stage, browser] = await Promise.all([joinStage(), startChromium(chromium)])
})
afterAll(async () => {
  await browser?.close()
  await stage?.stop()
})

suite('the documentation in a browser', () => {
  let tab: Tab
  let page: Page
  beforeEach(async () => {
    tenant = await stage.newTenant()
    tab = await openTab(browser)
    page = tab.page
  })
  afterEach(async () => {
    await tab.close()
    expect(tab.complaints).toEqual([])
    // The page must request nothing from other origins. Data URLs request nothing.
    const remote = tab.requested.filter(({ protocol }) => protocol !== 'data:')
    expect([...new Set(remote.map(({ origin }) => origin))]).toEqual([stage.system.baseUrl])
  })

  test('a reader of the reference enters a token, tries an operation, and continues to a guide', async () => {
    await page.goto(`${stage.system.baseUrl}/docs#?route=post-/leads`)
    const main = page.getByRole('main')
    await main.getByText('Creates a lead with').filter({ visible: true }).first().waitFor()
    expect(await page.title()).toBe('Leadwire reference')
    expect(await violations(page)).toEqual([])
    await page.getByLabel('Token', { exact: true }).fill(tenant.token)
    await page.getByRole('button', { name: 'Use token' }).click()
    await page.getByText('Token kept until this tab is closed.').waitFor()
    // The tab keeps the token after a reload, and the reference sends its sample request with this token.
    await page.reload()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText(/Response Status: .*200/).waitFor()
    const { json } = await tenant.client.request<{ total: number }>('GET', '/leads')
    expect(json.total).toBe(1)
    await page.getByRole('button', { name: 'Forget token' }).click()
    await page.getByText('Token forgotten.').waitFor()
    const kept =
      '[Object.values(sessionStorage), Object.values(localStorage), document.cookie].flat().join("")'
    expect(await page.evaluate(kept)).toBe('')

    await page.getByRole('link', { name: 'Guides' }).click()
    await page.getByRole('navigation', { name: 'Guides' }).getByRole('link').first().click()
    await page.getByRole('figure').filter({ hasText: 'curl' }).first().waitFor()
    // The text may be there before the styles.
    await page.waitForLoadState()
    expect(await violations(page)).toEqual([])
  })
})

/** The files of the guide by their paths on the website. */
const readFiles = (guide: string, values: Record<string, string>): Record<string, string> => {
  const block = (language: string) =>
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)![1]!
  const page = block('html').replace(/BASE_URL|CAPTURE_TOKEN/g, (name) => values[name]!)
  return { '/': page, '/form.js': block('js'), '/thanks.html': '<!doctype html><title>Thanks</title>' }
}

suite('a website with the form of the guide', () => {
  let site: Server
  let origin: string
  let files: Record<string, string>
  beforeAll(async () => {
    site = createServer(({ url = '' }, response) => {
      const { pathname } = new URL(url, origin)
      const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html'
      response.writeHead(files[pathname] ? 200 : 404, { 'content-type': type }).end(files[pathname])
    })
    await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
    // Serves the website at `localhost`, so that the website and the API (127.0.0.1) are different sites. Two
    // ports of one host would be the same site.
    origin = `http://localhost:${(site.address() as AddressInfo).port}`
    tenant = await stage.newTenant()
    const { token } = await publish(tenant, {
      origins: [origin],
      return_url: `${origin}/thanks.html`,
      honeypot: 'fax',
    })
    const values = { BASE_URL: stage.system.baseUrl, CAPTURE_TOKEN: token }
    files = readFiles(await readFile(GUIDE, 'utf8'), values)
  })
  afterAll(() => void site.close())

  const visit = async (javaScriptEnabled: boolean, work: (page: Page) => Promise<void>) => {
    const context = await browser.newContext({ javaScriptEnabled })
    context.setDefaultTimeout(60_000)
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
    await page.getByLabel('Last name').fill('Byron')
    await page.getByLabel('E-mail').fill(LEAD.email)
    await page.getByLabel('Telephone').fill(LEAD.phone)
    await page.getByLabel('Postcode').fill(LEAD.postcode)
    await work(page)
    expect(complaints).toEqual([])
    await context.close()
  }

  const countLeads = async () => (await tenant.client.request<{ total: number }>('GET', '/leads')).json.total

  test('without JavaScript the form and its photo become a lead, and the visitor returns with its reference or the invalid fields', async () => {
    await visit(false, async (page) => {
      await page.getByLabel('Your wishes').fill('After six.\nThank you.')
      await page.getByLabel('Photo').setInputFiles({ name: 'a.gif', mimeType: 'image/gif', buffer: GIF })
      await page.getByLabel('Postcode').fill('nowhere')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.waitForURL(/thanks\.html\?error=invalid&field=postcode$/)
      expect(await countLeads()).toBe(0)

      await page.goBack()
      await page.getByLabel('Postcode').fill(LEAD.postcode)
      await page.getByLabel('Photo').setInputFiles({ name: 'a.gif', mimeType: 'image/gif', buffer: GIF })
      await page.getByRole('button', { name: 'Send' }).click()
      await page.waitForURL(/thanks\.html\?reference=/)
      const reference = new URL(page.url()).searchParams.get('reference')
      expect(await tenant.send('GET', `/leads/${reference}`)).toMatchObject({
        name: 'Kitchen windows',
        status: 'open',
        referrer: 'Website',
        description: expect.stringContaining('After six.'),
        user_agent: expect.stringContaining('Chrome'),
        customer: { name: 'Ada Byron' },
      })
      expect(await tenant.send('GET', `/leads/${reference}/attachments`)).toMatchObject([
        { file_name: 'a.gif' },
      ])
    })
  })

  test('with JavaScript the page stays open, and a double click creates one lead', async () => {
    const before = await countLeads()
    await visit(true, async (page) => {
      const status = page.getByRole('status')
      await page.route('**/leads', (route) => route.abort(), { times: 1 })
      await page.getByRole('button', { name: 'Send' }).click()
      await eventually(async () => expect(await status.textContent()).toMatch(/try again/))
      await page.getByRole('button', { name: 'Send' }).dblclick()
      await eventually(async () => expect(await status.textContent()).toMatch(/Your reference is/))
      expect(page.url()).toBe(`${origin}/`)
      // Creates another lead from the same page.
      const first = await status.textContent()
      await page.getByLabel('First name').fill('Grace')
      await page.getByRole('button', { name: 'Send' }).click()
      await eventually(async () => expect(await status.textContent()).not.toBe(first))
      const reference = /reference is (\S+)\.$/.exec((await status.textContent())!)![1]!
      expect(await tenant.send('GET', `/leads/${reference}`)).toMatchObject({
        name: 'Kitchen windows',
        customer: { name: 'Grace Byron' },
      })
    })
    expect(await countLeads()).toBe(before + 2)
  })
})
