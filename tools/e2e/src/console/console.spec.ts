import { eventually } from '@leadwire/test-kit'
import type { Browser, Page } from 'playwright-core'
import { type Stage, startStage, type Tenant } from '../stage.fixture'
import { findChromium, openTab, startChromium, type Tab } from './chromium.fixture'

const MARKUP = '<img src=x onerror="alert(1)"><script>alert(2)</script>'

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium) {
  console.warn('The console was not tried: there is no Chromium here. Set CHROMIUM_BIN, or put one on PATH.')
}

suite('the console in a browser', () => {
  let stage: Stage
  let browser: Browser
  let tenant: Tenant
  let tab: Tab
  let page: Page
  /** Complaints that a test brought about itself. */
  let expected: RegExp[]

  beforeAll(async () => {
    const env = { WEBHOOK_RETRY_SCHEDULE: '300ms,300ms,300ms,300ms,300ms', WEBHOOK_TIMEOUT: '1s' }
    ;[stage, browser] = await Promise.all([startStage({ env }), startChromium(chromium!)])
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
  })
  beforeEach(async () => {
    expected = []
    tenant = await stage.newTenant()
    tab = await openTab(browser)
    page = tab.page
  })
  afterEach(async () => {
    await tab.close()
    expect(tab.complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([])
    expect([...new Set(tab.requested.map(({ origin }) => origin))]).toEqual([stage.system.baseUrl])
  })

  const enter = async (token: string) => {
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Open' }).click()
  }
  const open = async (hash = '', token = tenant.token) => {
    await page.goto(`${stage.system.baseUrl}/console${hash}`)
    await enter(token)
  }
  const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name })
  const said = () => page.getByRole('status')
  const exhausted = async (reference: string) =>
    eventually(async () => {
      const { json } = await tenant.client.request<{ data: { id: number; status: string }[] }>(
        'GET',
        `/manage/deliveries?lead_reference=${reference}`,
      )
      expect(json.data).toMatchObject([{ status: 'exhausted' }])
      return json.data[0]!.id
    })

  test('asks for a token once, keeps it in the tab alone, and forgets it when told', async () => {
    await open()
    await heading('Endpoints').waitFor()
    expect(await page.getByText('No endpoint gets new leads yet.').isVisible()).toBe(true)
    await page.reload()
    await heading('Endpoints').waitFor()
    const kept = () =>
      page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')
    expect(await kept()).toEqual([[tenant.token], [], ''])
    await page.getByRole('button', { name: 'Forget token' }).click()
    await heading('Open the console').waitFor()
    expect(await kept()).toEqual([[], [], ''])
  })

  test('a wrong token is refused, a revoked one asks again and leads back to where it was', async () => {
    expected = [/401 \(Unauthorized\)/]
    await open('#/deliveries?status=held', 'lw_live_wrong')
    await page.getByText('The token is not valid: it is unknown, revoked or expired.').waitFor()
    const { id, token } = await tenant.newToken({ scopes: ['manage'] })
    await enter(token)
    await heading('Deliveries').waitFor()
    await tenant.send('DELETE', `/manage/tokens/${id}`)
    await heading('Open the console').waitFor()
    await enter(tenant.token)
    await page.getByText('No delivery matches.').waitFor()
  })

  test('what cannot stand in a header is no token', async () => {
    await open('', 'täu’schung')
    await page.getByText('That is not a token.').waitFor()
  })

  test('a token without the scope is told which one it lacks', async () => {
    expected = [/403 \(Forbidden\)/]
    const { token } = await tenant.newToken({ scopes: ['leads'] })
    await open('', token)
    await heading('Forbidden').waitFor()
    expect(await page.getByRole('main').innerText()).toContain('The token lacks the scope manage.')
    await page.getByRole('button', { name: 'Use another token' }).click()
    await enter(tenant.token)
    await heading('Endpoints').waitFor()
  })

  test('endpoints stand with their health, and a refresh brings what is new without taking the focus', async () => {
    const { receiver } = await tenant.listen({ description: 'CRM' })
    await tenant.listen({ description: 'Silent', enabled: false })
    receiver.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }))
    await open()
    const row = (name: string) => page.getByRole('row').filter({ hasText: name })
    await row('CRM').getByText('never').waitFor()
    await row('CRM').getByRole('link', { name: 'CRM' }).focus()
    await tenant.createLead()
    await row('CRM').getByText('50 %').waitFor()
    await row('CRM').getByRole('img', { name: '1 succeeded, 1 failed' }).waitFor()
    expect(await row('CRM').innerText()).toMatch(/ago|now/)
    expect(await row('Silent').getByRole('link', { name: '1' }).getAttribute('href')).toMatch(/status=held$/)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('CRM')
  })

  test('a failing delivery shows its attempts; once the receiver is back a retry delivers it', async () => {
    const { receiver } = await tenant.listen({ description: MARKUP })
    receiver.answerWith({
      status: 503,
      body: `${MARKUP} come back later`,
      headers: { 'content-type': 'text/html' },
    })
    const { reference } = await tenant.createLead()
    const id = await exhausted(reference)

    await open(`#/deliveries/${id}`)
    await heading(`Delivery ${id} exhausted`).waitFor()
    const attempts = page.getByRole('listitem').filter({ hasText: 'HTTP 503' })
    expect(await attempts.count()).toBe(6)
    expect(await attempts.nth(5).innerText()).toMatch(
      /\d ms later\s+Attempt 6 failed\s+.*\s+HTTP 503\s+http_status/,
    )
    await attempts.first().getByText('Answer').click()
    expect(await attempts.first().locator('pre').innerText()).toBe(`${MARKUP} come back later`)
    expect(await page.getByRole('link', { name: MARKUP }).isVisible()).toBe(true)
    expect(await page.locator('main').locator('img, script').count()).toBe(0)

    receiver.answerWith({ status: 200, body: 'thank you' })
    await page.getByRole('button', { name: 'Retry now' }).click()
    await said().getByText(`Delivery ${id} is being attempted once more.`).waitFor()
    await heading(`Delivery ${id} delivered`).waitFor()
    await page.getByRole('heading', { name: 'Attempt 7 succeeded' }).waitFor()
    // What was opened before the refresh is open after it.
    expect(await attempts.first().locator('pre').isVisible()).toBe(true)
  })

  test('deliveries are filtered and paged, and the address says how', async () => {
    const { id } = await tenant.listen({ description: 'CRM' })
    await tenant.listen({ description: 'Held', enabled: false })
    const leads = []
    for (let count = 0; count < 12; count += 1) leads.push(await tenant.createLead())
    await eventually(async () => {
      const list = await tenant.client.request<{ total: number }>(
        'GET',
        '/manage/deliveries?status=delivered',
      )
      expect(list.json.total).toBe(12)
    })
    await open('#/deliveries')
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByText('1–20 of 24').waitFor()
    await pages.getByRole('link', { name: 'Older' }).click()
    await pages.getByText('21–24 of 24').waitFor()
    expect(page.url()).toMatch(/#\/deliveries\?page=2$/)
    await page.goBack()
    await pages.getByText('1–20 of 24').waitFor()

    await page.getByLabel('Status').selectOption('delivered')
    await page.getByRole('button', { name: 'Filter' }).click()
    await pages.getByText('1–12 of 12').waitFor()
    expect(page.url()).toMatch(/#\/deliveries\?status=delivered$/)
    await page.getByLabel('Endpoint').selectOption('CRM')
    await page.getByLabel('Lead reference').fill(` ${leads[3]!.reference} `)
    await page.getByLabel('Lead reference').press('Enter')
    await pages.getByText('1–1 of 1').waitFor()
    expect(page.url()).toMatch(
      new RegExp(`#/deliveries\\?endpoint_id=${id}&status=delivered&lead_reference=${leads[3]!.reference}$`),
    )
    await page.reload()
    await pages.getByText('1–1 of 1').waitFor()
    expect(await page.getByLabel('Status').inputValue()).toBe('delivered')
  })

  test('a lead is found by the short reference its table shows, on whatever page it is', async () => {
    const { id } = await tenant.listen({ description: 'CRM' })
    const first = await tenant.createLead()
    for (let count = 0; count < 25; count += 1) await tenant.createLead()
    await open(`#/deliveries?endpoint_id=${id}&page=2`)
    const short = first.reference.slice(0, 8)
    await page.getByText(short, { exact: true }).waitFor()
    // A tab that has shown nothing yet finds it as well.
    for (const hash of ['#/deliveries', '#/']) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      if (hash === '#/') await page.reload()
      await page.evaluate("location.hash = '#/deliveries?'")
      await page.getByLabel('Lead reference').fill(short.toUpperCase())
      await page.getByLabel('Lead reference').press('Enter')
      await page.getByText('1–1 of 1').waitFor()
      expect(await page.getByLabel('Lead reference').inputValue()).toBe(short.toUpperCase())
    }
  })

  test('an invalid filter has its error beside its field, and the page stays', async () => {
    await tenant.listen({ description: 'CRM' })
    await open('#/deliveries')
    const field = page.getByLabel('Lead reference')
    for (const [typed, told] of [
      ['no reference', /^Not a lead reference/],
      ['abc', /^Not a lead reference/],
      ['00000000', /^No delivery is of a lead that begins like that/],
    ] as const) {
      await field.fill(typed)
      await field.press('Enter')
      await page.locator('#lead_reference-error').filter({ hasText: told }).waitFor()
      expect(await field.getAttribute('aria-describedby')).toBe('lead_reference-error')
      expect(await field.inputValue()).toBe(typed)
      expect(await heading('Deliveries').isVisible()).toBe(true)
    }
    // What the gateway refuses, from an address that somebody typed.
    expected = [/422/]
    await page.evaluate("location.hash = '#/deliveries?status=lost&endpoint_id=x'")
    await page.locator('#status-error').waitFor()
    expect(await page.locator('#endpoint_id-error').isVisible()).toBe(true)
    expect(await page.getByLabel('Status').getAttribute('aria-invalid')).toBe('true')
    expect(await heading('Deliveries').isVisible()).toBe(true)
  })

  test('an empty answer, a redirect and no answer are told apart; what only fails is not called enabled', async () => {
    const { receiver, id } = await tenant.listen({ description: 'CRM' })
    receiver.answerWith((_, index) =>
      index === 0 ? { status: 500 } : index === 1 ? { status: 302, headers: { location: '/x' } } : 'close',
    )
    const delivery = await exhausted((await tenant.createLead()).reference)
    await open(`#/deliveries/${delivery}`)
    const attempt = (number: number) => page.getByRole('listitem').filter({ hasText: `Attempt ${number} ` })
    await attempt(1).getByText('The answer was empty.').waitFor()
    await attempt(2).getByText('A redirect is not followed').waitFor()
    await attempt(3).getByText('No answer.').waitFor()
    expect(await page.getByText('No answer.').count()).toBe(4)
    await page.evaluate("location.hash = '#/'")
    const state = page.getByRole('row').filter({ hasText: 'CRM' }).locator('.badge')
    await state.waitFor()
    expect(await state.innerText()).toBe('failing')
    await page.evaluate(`location.hash = '#/endpoints/${id}'`)
    await heading('CRM failing').waitFor()
  })

  test('an endpoint is tested, disabled, enabled and recovered', async () => {
    const { receiver, id } = await tenant.listen({ description: 'CRM' })
    receiver.answerWith({ status: 500 })
    await exhausted((await tenant.createLead()).reference)
    receiver.answerWith({ status: 200 })
    await open(`#/endpoints/${id}`)
    await heading('CRM failing').waitFor()

    await page.getByLabel('Which').selectOption('only exhausted ones')
    await page.getByRole('button', { name: 'Recover' }).click()
    await said().getByText('1 delivery will be attempted once more.').waitFor()
    await page.getByRole('row').filter({ hasText: 'delivered' }).waitFor()
    await heading('CRM enabled').waitFor()

    await page.getByRole('button', { name: 'Disable' }).click()
    await heading('CRM disabled').waitFor()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('row').filter({ hasText: 'held' }).waitFor()
    const before = receiver.requests.length
    await page.getByRole('button', { name: 'Enable' }).click()
    await said().getByText('Enabled: what was held goes on.').waitFor()
    await eventually(() => expect(receiver.requests).toHaveLength(before + 1))
    expect(JSON.parse(receiver.requests.at(-1)!.body.toString())).toMatchObject({ data: { test: 1 } })

    await page.getByLabel('Which').selectOption('delivered ones too')
    await page.getByRole('button', { name: 'Recover' }).click()
    await said().getByText('2 deliveries will be attempted once more.').waitFor()
    await eventually(() => expect(receiver.requests).toHaveLength(before + 3))
  })

  test('a conflict is said, and the page stays', async () => {
    expected = [/409 \(Conflict\)/]
    const { id } = await tenant.listen({ enabled: false })
    const { id: delivery } = await tenant.send<{ id: number }>('POST', `/manage/webhook-endpoints/${id}/test`)
    await open(`#/deliveries/${delivery}`)
    await page.getByRole('button', { name: 'Retry now' }).click()
    await page
      .getByRole('alert')
      .getByText(/disabled/)
      .waitFor()
    expect(await heading(`Delivery ${delivery} held`).isVisible()).toBe(true)
  })

  test('while the gateway is unavailable the page stays and says how old it is', async () => {
    expected = [/ERR_CONNECTION_REFUSED|503/]
    await tenant.listen({ description: 'CRM' })
    await open()
    await page.getByText('Live', { exact: true }).waitFor()
    await stage.system.kill('gateway')
    try {
      await page.getByText(/Not updated since \d\d:\d\d: The API could not be reached/).waitFor()
      expect(await page.getByRole('link', { name: 'CRM' }).isVisible()).toBe(true)
    } finally {
      await stage.system.restart('gateway')
    }
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('the keyboard alone is enough', async () => {
    const { id } = await tenant.listen({ description: 'CRM' })
    const pressUntil = async (name: string) => {
      for (let presses = 0; presses < 20; presses += 1) {
        await page.keyboard.press('Tab')
        if ((await page.evaluate('document.activeElement.textContent')) === name) return
      }
      throw new Error(`Tab never came to ${name}`)
    }
    await page.goto(`${stage.system.baseUrl}/console`)
    // The field has the focus already.
    await page.keyboard.type(tenant.token)
    await page.keyboard.press('Enter')
    await heading('Endpoints').waitFor()
    await pressUntil('CRM')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await heading('CRM enabled').waitFor()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(await page.title()).toBe(`Endpoint ${id} · Leadwire console`)
    await pressUntil('Disable')
    await page.keyboard.press('Space')
    await heading('CRM disabled').waitFor()
  })

  test('it fits 360 pixels and is quick', async () => {
    const { receiver, id } = await tenant.listen({ description: 'x'.repeat(255) })
    receiver.answerWith({ status: 500, body: 'y'.repeat(5000) })
    const delivery = await exhausted((await tenant.createLead()).reference)
    await tab.close()
    tab = await openTab(browser, { width: 360 })
    page = tab.page
    await open()
    for (const hash of ['#/', `#/endpoints/${id}`, '#/deliveries', `#/deliveries/${delivery}`]) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      await page.locator('main:not([aria-busy]) h1').waitFor()
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 360])
    }
    const bytes = await page.evaluate(
      `performance.getEntries().filter(({ name }) => /\\/console/.test(name)).reduce((sum, { encodedBodySize }) => sum + (encodedBodySize || 0), 0)`,
    )
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(40_000)
  })

  test('markup made from text is refused by the browser itself', async () => {
    expected = [/TrustedHTML/i, /Content Security Policy/i]
    await open()
    await heading('Endpoints').waitFor()
    await expect(page.evaluate(`document.body.innerHTML = '<p>'`)).rejects.toThrow(/TrustedHTML/)
  })
})
