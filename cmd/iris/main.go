// Command iris is the governed memory of AI assistants in one binary. This package parses, wires and runs; what the parts do
// stands in their rooms.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

// Exit codes (spec 9.7), the same for every command.
const (
	exitDone         = 0 // done, or verified
	exitNot          = 1 // not done, or not verified
	exitCouldNot     = 2 // could not check, or could not be asked
	exitExceptErased = 3 // verified, except what is erased
)

type cli struct {
	Up       upCommand       `cmd:"" help:"Start everything in one process: NATS, a private PostgreSQL, workers, API and pages, with a demonstration."`
	Serve    serveCommand    `cmd:"" help:"Run API and pages against a NATS cluster and a PostgreSQL that others run."`
	Worker   workerCommand   `cmd:"" help:"Run workers against them: intake, projector, streamguard; any number of each."`
	Migrate  migrateCommand  `cmd:"" help:"Make keys, databases, the inbox and organisations there, or bring them up to date; with rights that no running process has."`
	Ready    readyCommand    `cmd:"" help:"Ask a running process whether it is ready: 0 yes, 1 no, 2 it doesn't answer."`
	Token    tokenCommand    `cmd:"" help:"Make a token of the development issuer."`
	Recall   recallCommand   `cmd:"" help:"Ask a member's memory, as the demonstration's assistant."`
	Audit    auditCommand    `cmd:"" help:"Prove what was done."`
	Producer producerCommand `cmd:"" help:"Let producers in, and cut them off."`
	Propose  proposeCommand  `cmd:"" help:"Carry a file of a producer's claims to their outcomes, over NATS; goes on where it stopped."`
	Admin    adminCommand    `cmd:"" help:"Administer the organisation: programs, roles, members, memberships, clients, terms, policy, tenants."`
	Policy   policyCommand   `cmd:"" help:"Policy documents."`
	Parked   parkedCommand   `cmd:"" help:"Claims that couldn't be read: list, show, retry, discard."`
	Rebuild  rebuildCommand  `cmd:"" help:"Make the read models anew from the streams beside the ones that are read, compare, and flip; nothing stops meanwhile."`
	Bench    benches         `cmd:"" help:"Measure against the raw limits, in the same run; or the screening on labelled texts."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// output is where a command writes: documents to Out, everything for people's eyes alone to Err.
type output struct {
	Out, Err io.Writer
}

func (o output) json(v any) error {
	encoder := json.NewEncoder(o.Out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// exit is an error that says with which code the program ends.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

func main() {
	os.Exit(run(os.Args[1:], output{os.Stdout, os.Stderr}))
}

func run(args []string, out output) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := -1
	parser, err := parserOf(ctx, out, func(code int) { ended = code })
	if err != nil {
		fmt.Fprintln(out.Err, "iris:", err)
		return exitCouldNot
	}
	command, err := parser.Parse(args)
	if ended >= 0 {
		return ended // help was asked for, and given
	}
	if err != nil {
		misread(err, out.Err)
		return exitCouldNot
	}
	return report(command.Run(), out)
}

func parserOf(ctx context.Context, out output, exit func(code int)) (*kong.Kong, error) {
	return kong.New(&cli{}, kong.Name("iris"), kong.Writers(out.Out, out.Err),
		kong.Description("The governed memory of AI assistants: what may be remembered about a person, under which consent, and what may be said back."),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(out), kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.Help(helpFor(examples())), kong.ValueFormatter(helpOf))
}

func report(err error, out output) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(out.Err, "iris:", err)
	var coded *exit
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitNot
}

type versionCommand struct{}

func (versionCommand) Run(out output) error {
	_, err := fmt.Fprintln(out.Out, "iris", version)
	return err
}
