import { signal } from '@preact/signals'
import { asProblem, sentenceOf } from '../api'

const notice = signal<{ text: string; isProblem: boolean }>()

const SHOWN_MS = 15_000

/** Shows what was done, for a while. */
export const say = (text: string): void => {
  const said = { text, isProblem: false }
  notice.value = said
  setTimeout(() => notice.value === said && sayNothing(), SHOWN_MS)
}

export const sayProblem = (error: unknown): void => {
  notice.value = { text: sentenceOf(asProblem(error)), isProblem: true }
}

export const sayNothing = (): void => {
  notice.value = undefined
}

/** Live regions, which screen readers speak when they change. */
export const Notices = () => {
  const message = (isProblem: boolean) =>
    notice.value?.isProblem === isProblem && (
      <p class="notice">
        <span>{notice.value.text}</span>
        <button type="button" class="close" aria-label="Dismiss" onClick={sayNothing}>
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
