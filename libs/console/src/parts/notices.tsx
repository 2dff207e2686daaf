import { signal } from '@preact/signals'
import { asProblem, renderProblem } from '../api'

const notice = signal<{ text: string; isProblem: boolean }>()

const SHOWN_MS = 15_000

/** Shows a notice for 15 seconds. */
export const showNotice = (text: string): void => {
  const shown = { text, isProblem: false }
  notice.value = shown
  setTimeout(() => {
    if (notice.value === shown) clearNotice()
  }, SHOWN_MS)
}

/** Shows a problem until the user dismisses it. */
export const showProblem = (error: unknown): void => {
  notice.value = { text: renderProblem(asProblem(error)), isProblem: true }
}

export const clearNotice = (): void => {
  notice.value = undefined
}

/** Shows the current notice in live regions, which screen readers announce when they change. */
export const Notices = () => {
  const message = (isProblem: boolean) =>
    notice.value?.isProblem === isProblem && (
      <p class="notice">
        <span>{notice.value.text}</span>
        <button type="button" class="close" aria-label="Dismiss" onClick={clearNotice}>
          ×
        </button>
      </p>
    )
  return (
    <div class="notices">
      <div role="status">{message(false)}</div>
      <div role="alert">{message(true)}</div>
    </div>
  )
}
