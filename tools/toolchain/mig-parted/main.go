// mig-check runs NVIDIA's own MIG code without a GPU.
//
//	mig-check spec < config.yaml   parses the file as the MIG manager does and prints what it read
//	mig-check geometry             prints the profiles and placements of NVIDIA's simulated cards
//	mig-check apply < config.yaml   sets every configuration of the file on a simulated A100-SXM4-40GB and prints what exists then
//
// The profile parser of mig-parted knows that one simulated card only, so apply has no choice of card.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"

	nvdev "github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/gpus"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
	v1 "github.com/NVIDIA/mig-parted/api/spec/v1"
	"github.com/NVIDIA/mig-parted/pkg/mig/config"
	"github.com/NVIDIA/mig-parted/pkg/types"
	"sigs.k8s.io/yaml"
)

var cards = map[string]gpus.Config{
	"a30": gpus.A30_PCIE_24GB, "a100-40gb": gpus.A100_SXM4_40GB, "a100-80gb": gpus.A100_SXM4_80GB,
	"h100-80gb": gpus.H100_SXM5_80GB, "h200": gpus.H200_SXM5_141GB, "b200": gpus.B200_SXM5_180GB,
}

type profile struct {
	Name    string `json:"name"`
	Compute int    `json:"compute"`
	Count   int    `json:"count"`
	Starts  []int  `json:"starts"`
}

func stop(code int, err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(code)
}

func read() v1.Spec {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		stop(2, err)
	}
	var spec v1.Spec
	if err := yaml.Unmarshal(text, &spec); err != nil {
		stop(1, err)
	}
	return spec
}

func geometry(card gpus.Config) []profile {
	found := []profile{}
	for id, info := range card.MIGProfiles.GpuInstanceProfiles {
		made, err := nvdev.New(simulated(card)).NewMigProfile(id, id, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, info.MemorySizeMB, card.MemoryMB<<20)
		if err != nil {
			continue
		}
		one := profile{Name: made.String(), Compute: int(info.SliceCount), Count: int(info.InstanceCount), Starts: []int{}}
		for _, place := range card.MIGProfiles.GpuInstancePlacements[id] {
			one.Starts = append(one.Starts, int(place.Start))
		}
		sort.Ints(one.Starts)
		found = append(found, one)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Name < found[j].Name })
	return found
}

func simulated(card gpus.Config) *server.Server {
	made, err := server.New(server.WithGPUs(card), server.WithDriverVersion("550.54.15"), server.WithNVMLVersion("12.550.54.15"), server.WithCUDADriverVersion(12040))
	if err != nil {
		stop(1, err)
	}
	return made
}

func apply(spec v1.Spec) map[string]types.MigConfig {
	result := map[string]types.MigConfig{}
	for name, rows := range spec.MigConfigs {
		for _, row := range rows {
			if !row.MigEnabled {
				continue
			}
			nvmllib := simulated(gpus.A100_SXM4_40GB)
			nvmllib.Devices[0].SetMigMode(nvml.DEVICE_MIG_ENABLE)
			manager := config.NewNvmlMigConfigManager(nvmllib)
			if err := manager.SetMigConfig(0, row.MigDevices); err != nil {
				stop(1, fmt.Errorf("%s: %w", name, err))
			}
			set, err := manager.GetMigConfig(0)
			if err != nil {
				stop(1, fmt.Errorf("%s: %w", name, err))
			}
			result[name] = set
		}
	}
	return result
}

func main() {
	types.SetMockNVdevlib()
	arguments := os.Args[1:]
	var answer any
	switch {
	case len(arguments) == 1 && arguments[0] == "spec":
		answer = read()
	case len(arguments) == 1 && arguments[0] == "geometry":
		all := map[string][]profile{}
		for name, card := range cards {
			all[name] = geometry(card)
		}
		answer = all
	case len(arguments) == 1 && arguments[0] == "apply":
		answer = apply(read())
	default:
		stop(2, fmt.Errorf("usage: mig-check spec|geometry|apply"))
	}
	text, err := json.Marshal(answer)
	if err != nil {
		stop(1, err)
	}
	fmt.Println(string(text))
}
