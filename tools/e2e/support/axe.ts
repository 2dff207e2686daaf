import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

/**
 * A desktop and a phone. A theme changes only colours and a width changes only the layout, so two of the four
 * combinations are enough.
 */
export const SCREENS = [
  { width: 1280, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const

/** Returns the violations that axe finds in the page. */
export const violations = async (page: Page): Promise<string[]> => {
  // Injects axe with evaluate(), because the page's content security policy allows only its own scripts. The
  // policy does not apply to evaluate().
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const found = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
