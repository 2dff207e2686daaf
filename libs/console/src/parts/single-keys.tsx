import { signal } from '@preact/signals'

const STORAGE_KEY = 'leadwire.single-keys'
const OFF = 'off'

/** Whether single keys, such as J, act as shortcuts. The choice is kept in this browser. */
export const areSingleKeysOn = signal(localStorage.getItem(STORAGE_KEY) !== OFF)

const switchSingleKeys = (isOn: boolean): void => {
  areSingleKeysOn.value = isOn
  if (isOn) localStorage.removeItem(STORAGE_KEY)
  else localStorage.setItem(STORAGE_KEY, OFF)
}

/**
 * The setting that switches the shortcuts off. People who dictate, or who press keys by accident, need it
 * (WCAG 2.1.4).
 */
export const SingleKeysSetting = () => (
  <section class="card padded" aria-labelledby="keyboard">
    <h2 id="keyboard">Keyboard</h2>
    <label class="box">
      <input
        type="checkbox"
        checked={areSingleKeysOn.value}
        onChange={({ currentTarget }) => switchSingleKeys(currentTarget.checked)}
      />{' '}
      Use single keys as shortcuts
    </label>
    <p class="faint help">
      <kbd>/</kbd> searches. In the list of leads, <kbd>J</kbd> and <kbd>K</kbd> move to the next and the
      previous lead, and <kbd>X</kbd> selects a lead. The setting applies to this browser.
    </p>
  </section>
)
