import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

/** A desk's and a phone's. Themes differ in colours and widths in layout: each width has one theme. */
export const SCREENS = [
  { width: 1280, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const

/** What axe finds in the page as it is shown. */
export const violations = async (page: Page): Promise<string[]> => {
  // evaluate() is not bound by the page's policy, which allows no script but the page's own.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const found = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
