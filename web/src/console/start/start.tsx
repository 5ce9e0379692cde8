/** The first steps of an operator: the first home, its devices, people and application. Each step can be left out. */

import { useEffect, useRef } from "preact/hooks";
import { t } from "../../app/i18n";
import { go, goToTop, query } from "../../app/router";
import { Head } from "../../kit/parts";
import { Show, useLoad } from "../../parts/loaded";
import { ApplicationStep } from "./application_step";
import { DevicesStep } from "./devices_step";
import { HomeStep } from "./home_step";
import { findOpenStep, STEPS, type Place, type Step } from "./open_step";
import { PeopleStep } from "./people_step";

function pathOf(step: Step, home: string): string {
  return `/console/start?${new URLSearchParams({ step, ...(home ? { home } : {}) })}`;
}

export function Start() {
  const home = query.value.get("home") ?? "";
  const asked = STEPS.find((step) => step === query.value.get("step"));
  const shown = useRef(asked);
  useEffect(() => {
    if (shown.current !== asked) goToTop();
    shown.current = asked;
  }, [asked]);
  if (!asked) return <Continue />;
  // Devices and people belong to a home.
  return <Steps step={!home && (asked === "devices" || asked === "people") ? "home" : asked} home={home} />;
}

/** Without a step in the address, the set-up continues where it stopped, for example before a restart of the gateway. */
function Continue() {
  const open = useLoad("open step", findOpenStep);
  return <Show of={open}>{(place) => <Steps {...place} />}</Show>;
}

function Steps({ step, home }: Place) {
  const next = (of: string = home): void => go(pathOf(following(step, of), of));
  return (
    <>
      <Head title={t("console.start.title")} about={t("console.start.about")} />
      <ol class="wizard-steps">
        {STEPS.slice(0, -1).map((one) => (
          <li key={one} aria-current={one === step ? "step" : undefined} class={STEPS.indexOf(one) < STEPS.indexOf(step) ? "past" : ""}>
            <a href={pathOf(one, home)}>{t(`console.start.step.${one}`)}</a>
          </li>
        ))}
      </ol>
      <section class="panel wizard" aria-label={t(`console.start.step.${step}`)}>
        <h2>{t(`console.start.${step}.title`)}</h2>
        {step !== "devices" && <p class="soft">{t(`console.start.${step}.about`)}</p>}
        {step === "home" && <HomeStep key={home} home={home} onDone={next} />}
        {step === "devices" && <DevicesStep key={home} home={home} onDone={() => next()} />}
        {step === "people" && <PeopleStep home={home} onDone={() => next()} />}
        {step === "application" && <ApplicationStep onDone={() => next()} />}
        {step === "done" && <Done home={home} />}
        {step !== "done" && (
          <p class="skip-step">
            <a class="link-alone" href={pathOf(following(step, home), home)}>
              {t("console.start.skip")}
            </a>
          </p>
        )}
      </section>
    </>
  );
}

function following(step: Step, home: string): Step {
  if (step === "home" && !home) return "application";
  return STEPS[STEPS.indexOf(step) + 1] ?? "done";
}

function Done({ home }: { home: string }) {
  return (
    <div class="buttons">
      {home && (
        <a class="button primary" href={`/homes/${home}`}>
          {t("console.start.done.home")}
        </a>
      )}
      {home && (
        <a class="button" href={`/console/plants/${home}`}>
          {t("console.start.done.plant")}
        </a>
      )}
      <a class="button" href="/console/plants">
        {t("console.start.done.console")}
      </a>
    </div>
  );
}
