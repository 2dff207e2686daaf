import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { SharedStage, Tenant } from '../stage.fixture'
import { SCREENS, violations } from './axe.fixture'
import { findChromium, openTab, startChromium, type Tab } from './chromium.fixture'

const chromium = findChromium()
if (!chromium) {
  console.warn('The console was not tried: there is no Chromium here. Set CHROMIUM_BIN, or put one on PATH.')
}

/** LEADWIRE_PICTURES=1: pictures of all pages go there. */
const PICTURES = process.env['LEADWIRE_PICTURES'] === '1' && join(__dirname, '../../pictures')

/** Settings under which deliveries are soon exhausted. */
export const IMPATIENT = {
  ...{ WEBHOOK_RETRY_SCHEDULE: '300ms,300ms,300ms,300ms,300ms', WEBHOOK_TIMEOUT: '1s' },
  WEBHOOK_SOURCE_ADDRESSES: '192.0.2.10, 2001:db8::/64',
}

/** What a test of the console works with; its account and its tab are its own. */
export interface ConsoleWorld<Of extends SharedStage = SharedStage> {
  stage: Of
  tenant: Tenant
  page: Page
  /** Complaints of the browser that the test causes itself; others fail it. */
  expected: RegExp[]
  /** Another tab in place of the present one, without what that kept. */
  newTab(width?: number): Promise<void>
  signIn(token?: string): Promise<void>
  /** Opens an address below /console, and signs in there. */
  open(path?: string, token?: string): Promise<void>
  heading(name: string | RegExp): ReturnType<Page['getByRole']>
  /** Checks the page that is shown with axe, at a desk's width in the light theme and at a phone's in the dark one. */
  inspect(name: string): Promise<void>
}

/** Specs of the console: a stage and a browser for all, of which nothing may complain. */
export const describeConsole = <Of extends SharedStage>(
  name: string,
  start: () => Promise<Of>,
  define: (world: ConsoleWorld<Of>) => void,
): void => {
  const suite = chromium ? describe : describe.skip
  suite(name, () => {
    let browser: Browser
    let tab: Tab
    const world: ConsoleWorld<Of> = {
      stage: undefined as unknown as Of,
      tenant: undefined as unknown as Tenant,
      page: undefined as unknown as Page,
      expected: [],
      newTab: async (width = 1280) => {
        await tab?.close()
        tab = await openTab(browser, { width })
        world.page = tab.page
      },
      signIn: async (token = world.tenant.token) => {
        await world.page.getByLabel('Token', { exact: true }).fill(token)
        await world.page.getByRole('button', { name: 'Sign in' }).click()
      },
      open: async (path = '', token) => {
        await world.page.goto(`${world.stage.system.baseUrl}/console${path}`)
        await world.signIn(token)
      },
      heading: (title) => world.page.getByRole('heading', { level: 1, name: title }),
      inspect: async (picture) => {
        const { page } = world
        if (PICTURES) mkdirSync(PICTURES, { recursive: true })
        for (const { width, colorScheme } of SCREENS) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
          const where = `${picture}-${width}-${colorScheme}`
          expect([where, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([where, width])
          expect([where, await violations(page)]).toEqual([where, []])
          if (PICTURES) await page.screenshot({ path: join(PICTURES, `${where}.png`), fullPage: true })
        }
        await page.setViewportSize({ width: 1280, height: 800 })
        await page.emulateMedia({ colorScheme: 'light' })
      },
    }
    beforeAll(async () => {
      ;[world.stage, browser] = await Promise.all([start(), startChromium(chromium!)])
    })
    afterAll(async () => {
      await browser?.close()
      await world.stage?.stop()
    })
    beforeEach(async () => {
      world.expected = []
      world.tenant = await world.stage.newTenant()
      await world.newTab()
    })
    afterEach(async () => {
      await tab.close()
      const { complaints, requested } = tab
      expect(complaints.filter((text) => !world.expected.some((pattern) => pattern.test(text)))).toEqual([])
      expect([...new Set(requested.map(({ origin }) => origin))]).toEqual([world.stage.system.baseUrl])
    })
    define(world)
  })
}
