import type { Browser, Page } from 'playwright-core'
import { findChromium, openTab, startChromium, type Tab } from '../../support/chromium'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium) {
  console.warn(
    'SKIPPED: the specs of the reference. No Chromium was found: set CHROMIUM_BIN, or put it on PATH.',
  )
}

let stage: SharedStage
let browser: Browser
beforeAll(async () => {
  if (chromium) [stage, browser] = await Promise.all([joinStage(), startChromium(chromium)])
})
afterAll(async () => {
  await browser?.close()
  await stage?.stop()
})

suite.each([1280, 375])('the reference in a browser, %d pixels wide', (width) => {
  let tenant: Tenant
  let tab: Tab
  let page: Page
  /** The base URL at which the reader opens the reference. */
  let base: string

  beforeEach(async () => {
    base = stage.system.baseUrl
    tenant = await stage.newTenant()
    tab = await openTab(browser, { width })
    page = tab.page
  })
  afterEach(async () => {
    await tab.close()
    expect(tab.complaints).toEqual([])
    // The page must request nothing from other origins. Data URLs request nothing.
    const origins = tab.requested.map(({ origin, protocol }) => (protocol === 'data:' ? undefined : origin))
    expect([...new Set(origins.filter(Boolean))]).toEqual([base])
  })

  const open = async (place = '') => {
    await page.goto(`${base}/docs${place}`)
    await page
      .getByText('Creates a lead with its customer')
      .or(page.getByText('Stores sales leads'))
      .first()
      .waitFor()
  }
  const useToken = async () => {
    await page.getByLabel('Token', { exact: true }).fill(tenant.token)
    await page.getByRole('button', { name: 'Use token' }).click()
    await page.getByText('Token kept until this tab is closed.').waitFor()
  }
  const kept = () =>
    page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')
  const isAsWideAsTheScreen = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
  const CREATE = '#?route=post-/leads'

  test('it has our name, and not the name of its generator', async () => {
    await open()
    expect(await page.title()).toBe('Leadwire reference')
    // Reads the text of the shadow root separately, because innerText does not include it.
    const text = await page.evaluate("document.querySelector('openapi-explorer').shadowRoot.textContent")
    expect(text).toContain('Create a lead')
    expect(`${text} ${await page.locator('body').innerText()}`).not.toMatch(
      /openapi.?explorer|authress|rapidoc|swagger/i,
    )
    await isAsWideAsTheScreen()
  })

  test('a token is entered once and kept in the tab only, and the first try creates a lead', async () => {
    await open(CREATE)
    await useToken()
    expect(await kept()).toEqual([[tenant.token], [], ''])
    await page.reload()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText(/Response Status: .*200/).waitFor()
    const { json } = await tenant.client.request<{ total: number }>('GET', '/leads')
    expect(json.total).toBe(1)
    await isAsWideAsTheScreen()
    await page.getByRole('button', { name: 'Forget token' }).click()
    await page.getByText('Token forgotten.').waitFor()
    expect(await kept()).toEqual([[], [], ''])
  })

  test('a try uses the address of the reader, which may differ from the public one', async () => {
    base = base.replace('127.0.0.1', 'localhost')
    await open(CREATE)
    await useToken()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.getByText(/Response Status: .*200/).waitFor()
  })

  test('an operation shows its code sample', async () => {
    await open(CREATE)
    const words = /curl -sS --fail-with-body "\$BASE_URL\/leads"/
    await page.getByText(words).filter({ visible: true }).first().waitFor()
    await isAsWideAsTheScreen()
  })

  test('a text that no header may contain is not accepted as a token', async () => {
    await open()
    await page.getByLabel('Token', { exact: true }).fill('täu’schung')
    await page.getByRole('button', { name: 'Use token' }).click()
    await page.getByText('This is not a token.').waitFor()
    expect(await kept()).toEqual([[], [], ''])
  })

  test('guides link to each other and fit the screen', async () => {
    await open()
    await page.getByRole('link', { name: 'Guides' }).click()
    const guides = page.getByRole('navigation', { name: 'Guides' }).getByRole('link')
    await guides.first().waitFor()
    await page.waitForLoadState()
    const titles = await guides.allInnerTexts()
    expect(titles.length).toBeGreaterThanOrEqual(7)
    for (const title of titles) {
      await guides.filter({ hasText: title }).click()
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      // Without its styles, the page is wider.
      await page.waitForLoadState()
      await isAsWideAsTheScreen()
    }
    await page.getByRole('link', { name: 'Reference' }).click()
    await page.getByText('Stores sales leads').first().waitFor()
  })
})
